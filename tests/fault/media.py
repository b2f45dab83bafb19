"""A disk that loses power: an ext4 or XFS of its own on a loop device. cut() stops the writer, takes the
file system away without letting it write what it holds (not even its journal), kills the writer and
mounts what the disk has. Needs root, loop devices and xfs_io."""
import os
import shutil
import subprocess

import pytest

from support.until import until


def _run(*argv):
    return subprocess.run(argv, check=True, capture_output=True)


def _loop_works():
    if os.geteuid() != 0 or shutil.which("xfs_io") is None or shutil.which("mkfs.ext4") is None:
        return False
    found = subprocess.run(["losetup", "-f"], capture_output=True, check=False)
    return found.returncode == 0


needs_loop = pytest.mark.skipif(
    not _loop_works(), reason="needs root, loop devices, mkfs.ext4 and xfs_io (xfsprogs)")


needs_xfs = pytest.mark.skipif(shutil.which("mkfs.xfs") is None,
                               reason="needs mkfs.xfs (xfsprogs)")

MAKERS = {"ext4": (96, ["mkfs.ext4", "-q", "-F"]), "xfs": (320, ["mkfs.xfs", "-q", "-f"])}


class Disk:
    """Mounted at path while the context lasts."""

    def __init__(self, path, kind="ext4", size_mib=None):
        self.path = path
        self.image = f"{path}.img"
        usual_mib, self.maker = MAKERS[kind]
        self.size_mib = size_mib or usual_mib
        self.cuts = 0

    def __enter__(self):
        with open(self.image, "wb") as file:
            file.truncate(self.size_mib << 20)
        _run(*self.maker, self.image)
        os.makedirs(self.path, exist_ok=True)
        self.mount()
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=False)
        os.remove(self.image)

    def mount(self):
        _run("mount", "-o", "loop", self.image, self.path)
        os.chmod(self.path, 0o700)

    def cut(self, writer):
        """Power is gone; writer (a Daemon) is dead and the disk is mounted again on return."""
        writer.pause()
        until(lambda: stands_still(writer.pid), 5, f"{writer.name} does not stop")
        _run("xfs_io", "-x", "-c", "shutdown", self.path)
        writer.kill9()
        until(self.unmount, 5, f"{self.path} is in use")
        self.mount()
        self.cuts += 1

    def unmount(self):
        """True: it is away, also from what was mounted elsewhere when a process began a life apart.
        Otherwise the next mount would be of the same, with all that the kernel still holds."""
        subprocess.run(["umount", self.path], capture_output=True, check=False)
        return not os.path.ismount(self.path) and not _run("losetup", "-j", self.image).stdout


def stands_still(pid):
    """Every thread is stopped, and in no system call that could still return."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as file:
            if file.read().rpartition(")")[2].split()[0] not in "Tt":  # t: by a tracer
                return False
    return True
