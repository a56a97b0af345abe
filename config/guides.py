"""Guides: the Markdown files of `docs/`, their sections, their search, and which one explains a page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from ingest.rendering.budget import Budget
from ingest.rendering.markdown import render_markdown

FOLDER = Path(settings.BASE_DIR) / "docs"
ORDER = (
    "raters", "adjudicators", "owners", "taxonomies", "fetching", "spreadsheets", "agreement", "analysis",
    "replication", "scripts", "operators",
)  # fmt: skip
BY_PAGE = {
    "home": "owners#before-the-study", "start": "owners#the-first-study-step-by-step",
    "start_codebook": "owners#the-first-study-step-by-step", "start_people": "owners#the-first-study-step-by-step",
    "start_round": "owners#the-first-study-step-by-step",
    "label": "raters#the-page", "label_one": "raters#the-page", "own_list": "raters#the-page",
    "discuss": "raters#after-labeling-discussion", "discuss_item": "raters#after-labeling-discussion",
    "inbox": "raters", "me": "raters#your-settings", "away": "raters#when-you-are-away",
    "resolve": "adjudicators#the-queue", "resolve_item": "adjudicators#deciding",
    "new_study": "owners#the-study", "study": "owners#the-study", "studies": "owners#the-study",
    "study_settings": "owners#the-study", "members": "owners#members", "reader_links": "owners#reader-links",
    "samples": "owners#choosing-issues", "items": "owners#items-and-audit", "item": "owners#items-and-audit",
    "audit": "owners#items-and-audit", "rounds": "owners#rounds", "round": "owners#rounds",
    "new_round": "owners#rounds", "training": "owners#calibration", "proposals": "owners#proposals",
    "proposal": "owners#proposals", "plans": "taxonomies#migrating-a-study",
    "plan": "taxonomies#migrating-a-study", "changes": "owners#when-issues-change-at-github",
    "agreement": "agreement", "methods": "owners#for-the-paper", "analyses": "analysis#the-questions",
    "exports": "scripts#files", "package": "replication#make-one", "import_study": "spreadsheets#through-the-page",
    "import_into": "spreadsheets#through-the-page", "edit_taxonomy_version": "taxonomies#the-editor",
    "issues": "fetching#searching-issues", "issue": "fetching#on-the-pages", "upload": "fetching#from-a-table",
    "operations": "operators#seeing",
}  # fmt: skip
"""The guide, and the section in it, by the name of a page."""
BY_PATH = (
    ("/taxonomies/", "taxonomies"), ("/issues/", "fetching"), ("/repositories/", "fetching"),
    ("/fetches/", "fetching"), ("/uploads/", "fetching"), ("/operations/", "operators"),
    ("/me/", "raters#your-settings"),
    ("/api/", "scripts"), ("/studies/import/", "spreadsheets"), ("/studies/", "owners"),
)  # fmt: skip
"""For all other pages, by the beginning of the path."""
HITS_MOST = 40
SNIPPET = 220
_HEADING = re.compile(r"(#{1,3}) (.+)")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_EMPHASIS = re.compile(r"(?<!\w)\*{1,2}([^*\n]+)\*{1,2}(?!\w)")
_MARKS = re.compile(r"^ *(?:```.*|[*-] )", re.MULTILINE)
_ELSEWHERE = "https://guides.invalid/"
_BREAK = re.compile(r"<br ?/?>\n")
_RENDERED_LINK = re.compile(rf'<a href="{re.escape(_ELSEWHERE)}([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)


@dataclass(frozen=True)
class GuideSection:
    """A heading with the Markdown below it; `level` is 1 for what stands above the first heading of a guide."""

    guide: str
    guide_title: str
    anchor: str
    level: int
    title: str
    text: str

    @property
    def address(self) -> str:
        return reverse("guide", args=[self.guide]) + (f"#{self.anchor}" if self.level > 1 else "")

    @property
    def html(self) -> str:
        """Safe HTML; links lead to the pages of the guides, pictures to their files.

        Where GitHub breaks the lines of a comment, those of a file run on.
        """
        found = render_markdown(_absolute(self.text, self.guide), budget=Budget(10**8))
        return _RENDERED_LINK.sub(_own_link, _BREAK.sub("\n", found).replace("<th></th>", "<td></td>"))


@dataclass(frozen=True)
class Guide:
    """One file of `docs/`."""

    name: str
    title: str
    sections: tuple[GuideSection, ...]

    @property
    def address(self) -> str:
        return reverse("guide", args=[self.name])


@dataclass(frozen=True)
class GuideHit:
    """A section that has all words of a search, with some text around the first one."""

    section: GuideSection
    snippet: str


@lru_cache(maxsize=1)
def guides() -> tuple[Guide, ...]:
    """All guides in the order in which they are offered; read once."""
    return tuple(_read(name) for name in ORDER if (FOLDER / f"{name}.md").exists())


def guide(name: str) -> Guide | None:
    return next((each for each in guides() if each.name == name), None)


def guide_of(page: str, path: str) -> str:
    """The path under which the guide for a page is, with the section; the list of guides where none is known."""
    found = BY_PAGE.get(page) or next((to for begin, to in BY_PATH if path.startswith(begin)), "")
    if not found:
        return reverse("help")
    name, _, anchor = found.partition("#")
    return reverse("guide", args=[name]) + (f"#{anchor}" if anchor else "")


def search(words: str) -> list[GuideHit]:
    """Sections with all these words, those that have them in their headings first."""
    wanted = words.casefold().split()[:10]
    if not wanted:
        return []
    found: list[tuple[int, GuideHit]] = []
    for each in (section for guide in guides() for section in guide.sections):
        title, text = f"{each.guide_title} {each.title}".casefold(), each.text.casefold()
        if all(word in title or word in text for word in wanted):
            rank = -10 * sum(word in each.title.casefold() for word in wanted) - sum(map(text.count, wanted))
            found.append((rank, GuideHit(each, _snippet(each.text, wanted))))
    return [hit for _, hit in sorted(found, key=lambda pair: pair[0])[:HITS_MOST]]


def _snippet(text: str, wanted: list[str]) -> str:
    """The words around the first that was found, without the marks of Markdown."""
    text = _MARKS.sub("", _EMPHASIS.sub(r"\1", _LINK.sub(r"\2", text)))
    plain = " ".join(text.replace("`", "").replace("|", " ").split())
    place = min((at for word in wanted if (at := plain.casefold().find(word)) >= 0), default=0)
    begin = plain.find(" ", place - SNIPPET // 3) + 1 if place > SNIPPET // 3 else 0
    return ("… " if begin else "") + plain[begin : begin + SNIPPET] + (" …" if begin + SNIPPET < len(plain) else "")


def _read(name: str) -> Guide:
    parts = list(_parts((FOLDER / f"{name}.md").read_text(encoding="utf-8")))
    title = parts[0][1] if parts else name
    taken: dict[str, int] = {}
    sections = []
    for level, heading, text in parts:
        anchor = anchor_of(heading)
        n, taken[anchor] = taken.get(anchor, 0), taken.get(anchor, 0) + 1
        sections.append(
            GuideSection(name, title, f"{anchor}-{n}" if n else anchor, level, heading.replace("`", ""), text)
        )
    return Guide(name, title, tuple(sections))


def _parts(text: str) -> Iterator[tuple[int, str, str]]:
    """Level, heading and text of each section; lines of code blocks are no headings."""
    level, heading, lines, is_code = 0, "", list[str](), False
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        found = None if is_code else _HEADING.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        if level:
            yield level, heading, "\n".join(lines).strip()
        level, heading, lines = len(found[1]), found[2], []
    if level:
        yield level, heading, "\n".join(lines).strip()


def anchor_of(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.casefold()).strip().replace(" ", "-")


def _absolute(text: str, name: str) -> str:
    """Links to guides and pictures as absolute ones, which the renderer keeps; of links to other files the words."""

    def link(found: re.Match[str]) -> str:
        is_picture, words, to = found[1] == "!", found[2], found[3]
        if to.startswith(("http://", "https://", "mailto:")) and not is_picture:
            return found[0]
        file, _, anchor = to.partition("#")
        if is_picture and re.fullmatch(r"pictures/[\w-]+\.png", file):
            return f"[{words}]({_ELSEWHERE}{file})"
        if not file or (file.endswith(".md") and file.removesuffix(".md") in ORDER):
            return f"[{words}]({_ELSEWHERE}{file.removesuffix('.md') or name}/{'#' + anchor if anchor else ''})"
        return words

    pieces = re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(piece if place % 2 else _LINK.sub(link, piece) for place, piece in enumerate(pieces))


def _own_link(found: re.Match[str]) -> str:
    to, words = found[1], found[2]
    if picture := re.fullmatch(r"pictures/([\w-]+)\.png", to):
        alt = re.sub(r"<[^>]*>", "", words)
        return (
            f'<img class="help-picture" src="{reverse("guide_picture", args=[picture[1]])}" alt="{alt}" loading="lazy">'
        )
    name, _, anchor = to.partition("/")
    return f'<a href="{escape(reverse("guide", args=[name]))}{escape(anchor)}">{words}</a>'
