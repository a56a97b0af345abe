"""File modes: stored files belong to Concord's user alone, requested files follow the caller's umask."""

import os
import shlex
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PRIVATE_UMASK = 0o077
OTHERS = 0o077
"""The bits of a mode that speak of everyone but the owner."""
PASSED = 0o010
"""The one bit that the data folder keeps where its PostgreSQL runs as another user, by way of the group."""
STORED = ("backups", "files", "locks", "logs", "static")
STORED_BEGINNINGS = ("beat-schedule", "demo-sign-ins.json", "last-backup.json", "secret_key")
CLUSTERS = ("postgres", "postgres.half-made")
"""PostgreSQL looks after what is in them, and refuses to start where that is open to others."""
SHOWN_MOST = 10


class _Caller:
    umask: int | None = None


def be_private() -> None:
    """From now on, new files of this process and its children are readable by their owner alone."""
    before = os.umask(PRIVATE_UMASK)
    if _Caller.umask is None:
        _Caller.umask = before


def umask_of_caller() -> int:
    """The umask under which this process was started."""
    return PRIVATE_UMASK if _Caller.umask is None else _Caller.umask


@contextmanager
def as_caller() -> Iterator[None]:
    """New files get the modes that the caller's umask leaves them. The umask is the process's: one thread alone."""
    before = os.umask(umask_of_caller())
    try:
        yield
    finally:
        os.umask(before)


def mode_of_output(path: Path, data_folder: Path) -> int:
    """The mode of a file that a person wants at `path`: as their umask says, 0600 inside the data folder."""
    inside = path.resolve().is_relative_to(data_folder.resolve())
    return 0o666 & ~(PRIVATE_UMASK if inside else umask_of_caller())


def make_data_folder(data_folder: Path) -> None:
    """Make the data folder if it is missing: 0700.

    Missing folders above it get the caller's usual modes. Where root makes them, everyone can pass them: PostgreSQL
    then runs as another user. A mode given to mkdir would be masked, so each is set afterwards. Raises OSError, also
    for a folder that another user made where everyone may make one, as in /tmp.
    """
    is_root = os.geteuid() == 0
    for folder in reversed([each for each in data_folder.parents if not each.exists()]):
        with suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(0o777 & ~umask_of_caller() | (0o011 if is_root else 0))
    with suppress(FileExistsError):
        data_folder.mkdir(mode=0o700)
        return
    if not data_folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(data_folder))
    if data_folder.stat().st_uid not in (os.geteuid(), 0) and data_folder.resolve().parent.stat().st_mode & 0o002:
        raise PermissionError(13, "Another user made this folder, and may read what is stored in it", str(data_folder))


def let_group_pass(data_folder: Path, gid: int) -> None:
    """Let this group pass the data folder without listing it, and nobody else. Raises OSError."""
    if _is_closable(data_folder):
        os.chown(data_folder, -1, gid)
        data_folder.chmod(0o700 | PASSED)


@dataclass
class Openings:
    """How many files and folders others can read, write, list or pass, and the first of them."""

    n: int = 0
    first: list[str] = field(default_factory=list)
    tops: set[Path] = field(default_factory=set)
    """What to close in the data folder: each of its entries that is open or holds something open."""

    def __bool__(self) -> bool:
        return self.n > 0

    def add(self, data_folder: Path, path: str) -> None:
        self.n += 1
        if len(self.first) < SHOWN_MOST:
            self.first.append(path)
        self.tops.add(data_folder.joinpath(*Path(path).relative_to(data_folder).parts[:1]))

    def sentence(self) -> str:
        """How many there are and the first of them."""
        are = "stored file or folder is" if self.n == 1 else "stored files and folders are"
        more = f" and {self.n - len(self.first):,} more" if self.n > len(self.first) else ""
        return f"{self.n:,} {are} open to other users of this machine: {', '.join(self.first)}{more}."

    def commands(self, data_folder: Path) -> list[str]:
        """What closes them in a shell."""
        return [
            shlex.join(["chmod", *([] if top == data_folder else ["-R"]), "go-rwx", str(top)])
            for top in sorted(self.tops)
        ]


def openings(data_folder: Path) -> Openings:
    """What others can read, write, list or pass of the data folder. Reads the mode of every stored file."""
    found = Openings()
    for path, _ in _open_entries(data_folder):
        found.add(data_folder, path)
    return found


def close_to_others(data_folder: Path) -> Openings:
    """Take everyone but the owner the access to what is stored; gives what stays open because it can't be changed."""
    left = Openings()
    for path, mode in _open_entries(data_folder):
        try:
            Path(path).chmod(mode)
        except FileNotFoundError:  # someone removed it meanwhile
            continue
        except OSError:
            left.add(data_folder, path)
    return left


def _open_entries(data_folder: Path) -> Iterator[tuple[str, int]]:
    """Each path that is open to others, and the mode that it should have. Links are followed at the top alone."""
    top = str(data_folder)
    try:
        found = data_folder.stat()
    except OSError:
        return
    mode, wanted = stat.S_IMODE(found.st_mode), _wanted_at_top(data_folder, found)
    if mode != wanted and mode & OTHERS & ~wanted and _is_closable(data_folder):
        yield top, wanted
    with suppress(OSError), os.scandir(top) as entries:
        for entry in entries:
            if entry.name in CLUSTERS:
                yield from _open_among([entry], [], follow=True)
            elif entry.name in STORED or entry.name.startswith(STORED_BEGINNINGS):
                folders: list[str] = []
                yield from _open_among([entry], folders, follow=True)
                yield from _open_below(folders)


def _open_below(folders: list[str]) -> Iterator[tuple[str, int]]:
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:  # removed meanwhile, or closed to us, too
            yield from _open_among(entries, folders)


def _open_among(
    entries: "Iterable[os.DirEntry[str]]", folders: list[str], *, follow: bool = False
) -> Iterator[tuple[str, int]]:
    for entry in entries:
        try:
            mode = entry.stat(follow_symlinks=follow).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            folders.append(entry.path)
        if mode & OTHERS and not stat.S_ISLNK(mode):
            yield entry.path, stat.S_IMODE(mode) & ~OTHERS


def _wanted_at_top(data_folder: Path, top: os.stat_result) -> int:
    """0700, or 0710 where another user's PostgreSQL passes by the group."""
    mode = stat.S_IMODE(top.st_mode) & ~OTHERS
    for name in CLUSTERS:
        with suppress(OSError):
            cluster = (data_folder / name).stat()
            if cluster.st_uid != top.st_uid and cluster.st_gid == top.st_gid:
                return mode | stat.S_IMODE(top.st_mode) & PASSED
    return mode


def _is_closable(data_folder: Path) -> bool:
    """Whether the folder is Concord's alone: not one for everybody such as /tmp, nor one that has the code in it."""
    code = Path(__file__).resolve().parent.parent
    try:
        is_shared = bool(data_folder.stat().st_mode & stat.S_ISVTX)
    except OSError:
        return False
    return not is_shared and not code.is_relative_to(data_folder.resolve())
