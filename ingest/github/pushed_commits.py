"""Pushed commits without a pull request: their files by GraphQL, which does not list them.

The folders of each commit are compared with those of its parent, all commits at once, level by level. The texts of
files show how many lines were added and deleted. The result counts only where it adds up to the size that GitHub gives
for the commit. It does not for files that were renamed, truncated, or compared differently by Git. REST lists the files
of these, of large commits, and of the last few.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.differences import LINE_EDITS_MAX
from ingest.github.client import TooMuch
from ingest.github.graphql_queries import GitObject, objects
from ingest.github.rest_objects import parse_count, with_files
from ingest.github.run_state import RunState
from ingest.records import ChangeRecord
from ingest.runs import beat
from shared.edit_scripts import edits

FOLDERS_AT_ONCE = 200
TEXTS_AT_ONCE = 100
FEW = 4
"""Commits for which REST takes no more requests than are saved."""
FILES_MAX = 30
"""Files of a commit that is compared here."""


def git_object(name: str) -> GitObject:
    """The commit that is called owner/name@hash."""
    repository, _, sha = name.rpartition("@")
    return repository, sha


def read_objects(
    job: RunState, wanted: Iterable[GitObject], fragment: str, *, at_once: int
) -> dict[GitObject, Mapping[str, Any]]:
    """What a fragment asks of objects in git, as far as GitHub gives it; half as many where it is too much at once."""
    found: dict[GitObject, Mapping[str, Any]] = {}
    left = sorted(set(wanted))
    while left:
        batch = left[:at_once]
        query, variables = objects(batch, fragment, job.name[1:])
        try:
            data = job.ask(query, variables, what=job.title, may_be_empty=True).data
        except TooMuch:
            if len(batch) > 1:
                at_once = len(batch) // 2
                continue
            data = {}
        beat(job.run)
        for n, each in enumerate(batch):
            given = data.get(f"o{n}")
            told = given.get("object") if isinstance(given, Mapping) else None
            if isinstance(told, Mapping):
                found[each] = told
        left = left[len(batch) :]
    return found


@dataclass(slots=True)
class _HashPair:
    """What stands at a path before a commit and after it: hashes, empty where there is nothing."""

    path: str
    before: str
    after: str


@dataclass(slots=True)
class _PushedCommit:
    """A commit: its size as GitHub tells it, the files found so far, and folders that are not compared yet."""

    name: str
    additions: int
    deletions: int
    n_files: int
    files: list[_HashPair] = field(default_factory=list)
    folders: list[_HashPair] = field(default_factory=list)

    @property
    def repository(self) -> str:
        return git_object(self.name)[0]

    def objects_of(self, pairs: Iterable[_HashPair]) -> list[GitObject]:
        return [(self.repository, oid) for pair in pairs for oid in (pair.before, pair.after) if oid]

    @property
    def texts(self) -> list[GitObject]:
        """What has to be read to count the lines of each file."""
        return [] if self.is_one_file else self.objects_of(pair for pair in self.files if pair.before != pair.after)

    @property
    def is_one_file(self) -> bool:
        """Then its size is that of the commit."""
        return len(self.files) == 1

    def compare(self, path: str, before: Any, after: Any) -> bool:
        """Takes the entries of a folder, before and after; whether they can be read."""
        old, new = _entries(before), _entries(after)
        if old is None or new is None:
            return False
        for name in sorted(old.keys() | new.keys()):
            was, became = old.get(name), new.get(name)
            if was == became:
                continue
            here = f"{path}{name}"
            for kind, pairs in (("blob", self.files), ("tree", self.folders)):
                sides = [side[1] if side and side[0] == kind else "" for side in (was, became)]
                if any(sides) and (kind == "blob" or sides[0] != sides[1]):
                    pairs.append(_HashPair(here, *sides))
            if "commit" in {side[0] for side in (was, became) if side}:
                return False  # a submodule
        return len(self.files) <= self.n_files

    def descend(self, folders: Mapping[GitObject, Mapping[str, Any]]) -> bool:
        """Compares the folders that were waiting; whether they can be read."""
        waiting, self.folders = self.folders, []
        nothing: Mapping[str, Any] = {"entries": []}
        for pair in waiting:
            sides = [folders.get((self.repository, oid)) if oid else nothing for oid in (pair.before, pair.after)]
            if not self.compare(f"{pair.path}/", *sides):
                return False
        return True

    def as_record(self, texts: Mapping[GitObject, Mapping[str, Any]]) -> ChangeRecord | None:
        """The change with its files; None where they do not add up to its size."""
        counts = [(self.additions, self.deletions)] if self.is_one_file else self._counted(texts)
        if [sum(each) for each in zip(*counts, strict=True)] != [self.additions, self.deletions]:
            return None
        rows = [
            {"path": pair.path, "additions": added, "deletions": deleted}
            for pair, (added, deleted) in zip(self.files, counts, strict=True)
        ]
        return with_files(ChangeRecord(kind="commit", identifier=self.name), rows, "path")

    def _counted(self, texts: Mapping[GitObject, Mapping[str, Any]]) -> list[tuple[int, int]]:
        """Lines added and deleted by file; nothing where one of them can't be compared."""
        found = []
        for pair in self.files:
            sides = [_lines(texts.get((self.repository, oid))) if oid else [] for oid in (pair.before, pair.after)]
            steps = None if None in sides else edits(sides[0] or [], sides[1] or [], LINE_EDITS_MAX)
            if pair.before == pair.after:
                steps = []  # only its mode was changed
            if steps is None:
                return []
            kinds = [kind for kind, _, _ in steps]
            found.append((kinds.count("added"), kinds.count("removed")))
        return found


def files_of_pushed(job: RunState, told: Mapping[str, Mapping[str, Any] | None]) -> dict[str, ChangeRecord]:
    """The files of commits (owner/name@hash, and what GitHub tells of each), where folders and texts tell them."""
    commits = [each for name, row in told.items() if (each := _pushed(name, row))]
    while len(deeper := [each for each in commits if each.folders]) > FEW:
        wanted = [one for each in deeper for one in each.objects_of(each.folders)]
        folders = read_objects(job, wanted, "Folder", at_once=FOLDERS_AT_ONCE)
        commits = [each for each in commits if not each.folders or each.descend(folders)]
    commits = [each for each in commits if not each.folders and len(each.files) == each.n_files]
    found: dict[str, ChangeRecord] = {}
    for batch in _batches(commits):
        wanted = [one for each in batch for one in each.texts]
        texts = read_objects(job, wanted, "Text", at_once=TEXTS_AT_ONCE)
        found |= {each.name: record for each in batch if (record := each.as_record(texts))}
    return found


def _batches(commits: Iterable[_PushedCommit]) -> Iterator[list[_PushedCommit]]:
    """Commits with as many texts as are asked for and held at once."""
    batch: list[_PushedCommit] = []
    for each in commits:
        if batch and sum(len(one.texts) for one in (*batch, each)) > TEXTS_AT_ONCE:
            yield batch
            batch = []
        batch.append(each)
    if batch:
        yield batch


def _pushed(name: str, told: Mapping[str, Any] | None) -> _PushedCommit | None:
    """A commit as GitHub tells it; None where it can't be read or is large."""
    if told is None:
        return None
    additions, deletions = parse_count(told.get("additions")), parse_count(told.get("deletions"))
    n_files = parse_count(told.get("changedFilesIfAvailable"))
    parents = told.get("parents")
    rows = parents.get("nodes") if isinstance(parents, Mapping) else None
    if additions is None or deletions is None or n_files is None or not isinstance(rows, list):
        return None
    found = _PushedCommit(name, additions, deletions, n_files)
    before = rows[0].get("tree") if rows and isinstance(rows[0], Mapping) else {"entries": []}
    is_small = 0 < n_files <= FILES_MAX and additions + deletions <= LINE_EDITS_MAX
    return found if is_small and found.compare("", before, told.get("tree")) else None


def _entries(folder: Any) -> dict[str, tuple[str, str, int]] | None:
    """Type, hash and mode by name; None where they can't be read."""
    rows = folder.get("entries") if isinstance(folder, Mapping) else None
    if not isinstance(rows, list):
        return None
    try:
        return {str(row["name"]): (str(row["type"]), str(row["oid"]), int(row["mode"])) for row in rows}
    except (KeyError, TypeError, ValueError):
        return None


def _lines(told: Mapping[str, Any] | None) -> list[str] | None:
    """The lines of a text as git counts them, none of a binary file; None where it is not known whole."""
    if told is None or told.get("isTruncated") is not False:
        return None
    if told.get("isBinary"):
        return []
    if not isinstance(text := told.get("text"), str):
        return None
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])
