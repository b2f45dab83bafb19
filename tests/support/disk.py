"""A disk that is small: a tmpfs of its own, which can be filled, freed and grown. Needs root."""
import errno
import os
import subprocess


def may_mount():
    return os.geteuid() == 0


class SmallDisk:
    """Mounted while the context lasts."""

    def __init__(self, path, size_kib):
        self.path = path
        self.size_kib = size_kib
        self.ballast = os.path.join(path, "ballast")

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        self.mount()
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.path], check=True)

    def mount(self, *more):
        options = ",".join([*more, f"size={self.size_kib}k", "mode=700"])
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.path], check=True)

    def grow(self, size_kib):
        self.size_kib = size_kib
        self.mount("remount")

    def fill(self):
        """Take what is left, to the last page."""
        with open(self.ballast, "ab", buffering=0) as file:
            for size in (65536, 4096):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self):
        os.remove(self.ballast)

    def left_kib(self):
        state = os.statvfs(self.path)
        return state.f_bavail * state.f_frsize // 1024
