"""System user of the embedded servers when root starts Concord, because PostgreSQL rejects root."""

import ctypes
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NAME = "pgserver"
PR_SET_SECUREBITS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 28, 47, 2
SECBIT_NO_SETUID_FIXUP = 1 << 2  # keeps capabilities over setuid, and access(2) heeds them
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION = 0x20080522


class NoServerUser(Exception):
    """There is no user that PostgreSQL could run as; the message says what to do."""


@dataclass(frozen=True)
class ServerUser:
    """Whom the servers run as, and whether they must be let past folders closed to that user.

    A checkout under /root (mode 0700) cannot be entered by any other user. Rather than open such a folder to
    everybody, the servers are started with the one capability that lets them pass (CAP_DAC_OVERRIDE).
    """

    uid: int
    gid: int
    passes_closed_folders: bool = False

    def become(self) -> None:
        """Turn the calling process, which is root's, into this user's."""
        os.setgroups([])
        os.setgid(self.gid)
        if self.passes_closed_folders:
            _set_uid_keeping_passage(self.uid)
        else:
            os.setuid(self.uid)

    def own(self, path: Path) -> None:
        """Give a file or folder, with all it holds, to this user."""
        for folder, _, files in os.walk(path):
            os.chown(folder, self.uid, self.gid)
            for file in files:
                os.lchown(Path(folder, file), self.uid, self.gid)


def server_user(
    *, folder: Path, owned: Path, program: Path, let_pass: Callable[[Path, int], None]
) -> ServerUser | None:
    """The user to run `program` as in `folder`; None where it is the one who calls, an ordinary user.

    For root it is the owner of `owned` where that exists and is not root's own, else the user `pgserver`, who is
    added to the system if need be; `let_pass(folder, gid)` then lets that user's group in. Raises NoServerUser.
    """
    if os.geteuid() != 0:
        return None
    if owned.exists() and owned.stat().st_uid != 0:
        owner = owned.stat()
        user = ServerUser(owner.st_uid, owner.st_gid)
    else:
        entry = _entry()
        user = ServerUser(entry.pw_uid, entry.pw_gid)
    let_pass(folder, user.gid)
    if _reaches(user, folder, program):
        return user
    if sys.platform == "linux":
        user = ServerUser(user.uid, user.gid, passes_closed_folders=True)
        if _reaches(user, folder, program):
            return user
    raise NoServerUser(
        f"PostgreSQL does not run as root, and the user it runs as instead ({NAME}) cannot enter {folder} or "
        f"{program.parent}. Start Concord as an ordinary user, or keep it in a folder that all users can enter, "
        "such as /srv/concord."
    )


def _entry() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        pass
    ways = [
        ["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false", NAME],
        ["adduser", "-S", "-D", "-H", "-s", "/bin/false", NAME],
    ]
    for way in ways:
        if shutil.which(way[0]) and subprocess.run(way, check=False, capture_output=True).returncode == 0:
            return pwd.getpwnam(NAME)
    raise NoServerUser(
        f"PostgreSQL does not run as root, and the user it would run as could not be added. Add one "
        f"(`useradd --system {NAME}`), or start Concord as an ordinary user."
    )


def _reaches(user: ServerUser, folder: Path, program: Path) -> bool:
    """Whether the user can enter the folder and run the program."""
    return _runs(user.become, ["/bin/sh", "-c", 'cd "$1" && exec "$2" --version', "sh", str(folder), str(program)])


def _runs(become: Callable[[], None], command: list[str]) -> bool:
    try:
        return subprocess.run(command, check=False, capture_output=True, cwd="/", preexec_fn=become).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def _set_uid_keeping_passage(uid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def must(result: int) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), "a capability was refused")

    wanted = 1 << CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)(wanted, wanted, wanted, 0, 0, 0)  # effective, permitted, inheritable; high halves
    must(libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
    os.setuid(uid)
    must(libc.capset(header, sets))
    must(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0))
