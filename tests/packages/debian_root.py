"""A Debian of its own, in a folder: made by debootstrap once, and thrown away after each test.

A command in it has mounts of its own, and shares the network with this system: a service in it is
reached under 127.0.0.1.
"""

import fcntl
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.packages.contents import ROOT

# That of this system, because packages are for the Debian that builds them.
RELEASE = platform.freedesktop_os_release()["VERSION_CODENAME"]
# What a server has and minimal systems lack. systemd does not run here, but it makes folders.
PACKAGES = ("ca-certificates", "logrotate", "python3-venv", "systemd")
BASE = ROOT / "build" / "roots" / RELEASE
ARCHIVE = "http://deb.debian.org/debian"

# `$0` is the root. What is mounted below it is gone with the last process.
MOUNTS = (
    'mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/run"'
    ' && mount -t tmpfs tmpfs "$0/dev/shm" && exec chroot "$0" "$@"'
)


def make_base() -> Path:
    """The folder with a fresh Debian, which takes a minute or two the first time."""
    BASE.parent.mkdir(parents=True, exist_ok=True)
    # One run makes it, and others wait.
    with BASE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not BASE.exists():
            making = BASE.with_suffix(".making")
            shutil.rmtree(making, ignore_errors=True)
            include = f"--include={','.join(PACKAGES)}"
            run("debootstrap", "--variant=minbase", include, RELEASE, str(making), ARCHIVE)
            making.rename(BASE)
    return BASE


def run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


class DebianRoot:
    """A copy of the base; writes go to a folder of its own (overlayfs)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "root"
        self._layers = folder / "layers"

    def __enter__(self) -> "DebianRoot":
        upper, work = self._layers / "upper", self._layers / "work"
        for each in (self.folder, upper, work):
            each.mkdir(parents=True)
        layers = f"lowerdir={make_base()},upperdir={upper},workdir={work}"
        run("mount", "-t", "overlay", "-o", layers, "overlay", str(self.folder))
        (self.folder / "etc" / "resolv.conf").write_bytes(Path("/etc/resolv.conf").read_bytes())
        # Nothing is started or stopped by the packages: no systemd runs.
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", mode=0o755)
        return self

    def __exit__(self, *error: object) -> None:
        run("umount", "--lazy", str(self.folder))

    def command(self, *command: str) -> list[str]:
        """The command line, on this system, that runs a command in the root."""
        return [
            *("unshare", "--mount", "sh", "-c", MOUNTS),
            *(str(self.folder), *command),
        ]

    def run(
        self, *command: str, environment: Mapping[str, str] | None = None, check: bool = True
    ) -> str:
        """What a command prints; it has no variables but these, and those that name proxies."""
        variables = {
            **{name: value for name, value in os.environ.items() if name.endswith("_proxy")},
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            **(environment or {}),
        }
        done = subprocess.run(
            self.command(*command),
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def install(self, packages: Sequence[Path]) -> str:
        """By apt-get, with what the packages depend on."""
        names = []
        for package in packages:
            self.write(f"/var/cache/{package.name}", package.read_bytes())
            names.append(f"/var/cache/{package.name}")
        self.run("apt-get", "update", "-qq")
        printed = self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *names)
        for name in names:
            self.path(name).unlink()
        return printed

    def path(self, name: str) -> Path:
        return self.folder / name.lstrip("/")

    def write(self, name: str, content: str | bytes, *, mode: int = 0o644) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)

    def files(self) -> set[str]:
        """Everything in it but what package managers keep."""
        kept = ("var/cache/", "var/lib/apt/", "var/lib/dpkg/", "var/log/apt/", "tmp/", "run/")
        listed = run("find", str(self.folder), "-xdev", "-printf", "%P\\n").splitlines()
        return {name for name in listed if name and not name.startswith(kept)}
