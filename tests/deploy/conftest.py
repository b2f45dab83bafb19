"""Tests of what is installed: Debian packages and containers. They need root, podman and the archive of
Debian's packages, take minutes, and are run by `./check DEPLOY` alone."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
