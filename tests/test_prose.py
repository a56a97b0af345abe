"""Prose of pages, messages, scripts and guides: phrases with what to write instead (CONTRIBUTING, *Words*)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("accounts", "agreement", "annotation", "config", "ingest", "shared", "taxonomy")
PHRASES = {
    r"\banew\b": "again",
    r"\bby (?:itself|themselves)\b": "automatically",
    r"\b(?:some|any)body\b": "someone, anyone",
    r"\bwhoever\b": "anyone who; the server's operator",
    r"\bbeside\b": "next to, in addition to, with",
    r"\bmeanwhile\b": "in the meantime, until then",
    r"\b(?:refused|answered|says?|said|rejected)(?:,)? in words\b": "with an explanation",
    r"\bin terms of `": "mapped to",
    r"\bin terms of (?:which |this |that )?version\b": "mapped to version",
    r"\bstands? (?:at version|in the (?:audit|file|flow|text)|there|under|beside|here|fast)\b": "is shown, is listed",
    r"\b(?:labels|it|what) stands? (?:as|for)\b": "are as they were; is the measure of",
    r"\bas it stands\b": "as it is",
    r"\bworklists?\b": "relabeling queue",
    r"\bsee who is how far\b": "view progress by rater",
    r"\bto try the taxonomy and each other\b": "try out the codebook and calibrate raters",
    r"\bleft empty, the\b": "leave empty to",
    r"\bas by itself\b": "default",
    r"\bnot seeing each other\b": "independent",
    r"\bstands for reliability\b": "is the measure of reliability",
    r"\bwith 95 % certainty\b": "supported at 95%",
    r"\b\d+ %(?! \()": "the number and % without a blank",
    r"\b95 ?% intervals?\b": "95% CI",
    r"\bwhat is confused\b": "most confused pairs",
    r"\bwithout a click\b": "had full agreement",
    r"\bresolve the first\b": "start resolving",
    r"\bis at fault\b": "report a gap in the taxonomy",
    r"\bcategories at stake\b": "categories involved",
    r"\bdecided this meanwhile\b": "resolved this while you were reading",
    r"\bcan.t be decided\b": "is no longer open",
    r"\bdecide (?:otherwise|, next)\b": "change the agreed label",
    r"\bSay it\b": "Post comment",
    r"\bstays as it is said\b": "Comments can't be edited",
    r"\banother bug\b": "another part",
    r"\btake it back\b": "undo",
    r"\bhand out\b": "assign",
    r"\bgive[sn]? out\b|\bgiving out\b": "assign, assignment",
    r"\bcounts? nowhere;": "excluded from results.",
    r"\bnothing before this\b": "this is your first item",
    r"\btaken up\b": "restored",
    r"\bare other than before\b": "changed",
    r"\bis tried again\b": "retrying",
    r"\bthrow (?:it|them) away\b|\bthrown away\b": "discard",
    r"\bnothing stands here\b": "no … yet",
    r"\bthe other way round\b": "swap versions",
    r"\bwhat can be said about an issue\b": "dimensions and categories",
    r"\bleads? nowhere\b": "is outdated, is not valid",
    r"\bwhat becomes of\b|\bbecame of\b": "effect on",
    r"\bis asked again\b|\basked again of\b": "must relabel",
    r"\bthat there is\b(?! no\b)": "existing",
    r"\bso that you know the link by\b": "note",
    r"\bwho is this here\b": "link to a user account",
    r"\bpassword lost\b": "forgot password",
    r"\bdo not go together\b": "wrong user name or password",
    r"\bturned back at\b": "was cancelled",
    r"\bmoment that lies ahead\b": "in the future",
    r"\bthere is nothing (?:here|at this address)\b": "not found",
    r"\bno such address\b": "no such endpoint",
    r"\bcan.t be asked\b": "missing parameter, not valid",
    r"\bcould not be asked for\b": "not created",
    r"[”\}] is no (?:category|rater|member|dimension|word|number|kind|column|item|user|code)\b": "is not a …",
    r"\bit hangs on\b|\bhang together\b": "depends on; are associated",
    r"\bsomething broke\b": "something went wrong",
    r"\bsay the number\b": "quote the reference",
    r"\btake(?:n|s)? home\b|\btake the file home\b": "download, export",
    r"\bha(?:ve|d) (?:a file|it) made\b": "create export",
    r"\bmade by a worker\b": "background exports",
    r"\bnone was made yet\b": "no … yet",
    r"\bequal to the byte\b": "byte-identical",
    r"\bwhat will be seen of whom\b": "what readers can see about people",
    r"\bask otherwise\b": "change this analysis",
    r"\bfrom the labels of now\b": "from the current labels",
    r"\bwhat was said of it\b": "labels",
    r"\bthrough the versions\b": "by version",
    r"\bgoes for good\b|\bfor good\b": "can't be undone",
    r"\bon wish\b": "if you want",
    r"\bbrought by you\b": "your files",
    r"\bwhat comes along\b|\bcame along\b|\bcomes along\b": "imported, copied",
    r"\bdoes not apply everywhere\b": "conditional dimension",
    r"\bopen all the same\b|\ball the same\b": "open anyway",
    r"\bsomething left open\b": "open disagreements",
    r"\bdecided as they said\b": "adjudicated in their favor",
    r"\braters beside themselves\b": "intra-rater agreement",
    r"\bthe new state\b": "the latest snapshot",
    r"\bwhat closed them\b": "closing pull requests",
    r"\bno issue fits\b": "no matching issues",
    r"\bshift all back\b": "shift back",
    r"\bdraw the preview again\b": "refresh preview",
    r"\bheard of (?:since|for)\b|\bhas been heard of\b": "heartbeat, reported",
    r"\bto mend it\b": "how to fix",
    r"\bin whose name\b": "run as this user",
    r"\bwhatever else leaves\b": "other study data",
    r"\bhas its own room\b": "has its own guide",
    r"\bis over tells nothing\b": "an expired link shows nothing",
    r"\bsomebody here has this address\b": "an account uses this address",
    r"\bwrite (?:one of|a whole number|text of at most|true or false)\b": "use one of, enter",
    r"\bthis is needed\b": "this field is required",
    r"\bstand fast\b": "can't be changed",
    r"\bhas more to do than\b": "is busy",
    r"\bnothing waits for you\b": "you have no open work",
    r"\bto my work\b(?<!o to my work)": "go to my work",
    r"\bbrought back\b": "restored",
    r"\bagreement is quiet\b": "agreement is muted",
    r"\bwhat (?:few do|to keep clear of)\b": "extraordinary attributes, antipatterns",
    r"\bdoes not know of\b": "does not know",
    r"\bstill blind to\b": "still hidden from",
    r"\bat stake\b": "involved",
    r"\bholds, in row\b": "Table …, row …, column …:",
    r"\bin the middle of round\b": "say what does not go out of date",
    r"\bno headline yet\b": "The headline appears when …",
    r"\bI label, too\b": "I am one of the raters",
    r"\bleave the path\b": "stop at any step",
    r"\b(?:author|comments) not known\b": "leave out what is not known",
    r"\band eight more\b": "name what there is more of",
    r"\bopened for you\b": "is open and has items for you",
    r"\bdone so far\b|\b(?:items|of \{n\}) done\b": "finished so far, and name what was skipped",
    r"\braters are (?:not )?done\b|\blast rater is done\b": "have finished",
    r"\bcount(?:s)? nowhere\b": "count in no result",
    r"\bcontinue to the codebook\b|\bedit the codebook\b": "taxonomy, where its versions are meant",
    r"\bnone fits\?": "Category missing? Propose one",
    r"\b(?:run|job|rater|round|fetch|labeling|study|worker) goes on\b": "continues",
    r"\bwrite a day\b": "enter a day",
    r"(?<![./\w-])labell(?:ed|ing|er)\b(?![./-])": "labeled, labeling",
    r"\bcolour(?!s?[_.\"'])|\blicen[c]e\b|\bpseudonymis|\banalys(?:ed|ing)\b": "American spelling",
}
"""Phrase (a regular expression, without regard to case): what to write instead."""
ANY_PHRASE = re.compile("|".join(PHRASES), re.IGNORECASE)
EXCEPT = (
    "annotation/imports/sheets/guesses.py",  # names of columns in the sheets of others
    "annotation/imports/sheets/columns.py",  # the same
    "annotation/choosing/actions/pinning.py",  # words of the audit log that are stored
)
STORED = ("models", "models.py")
"""Where texts are described to developers: help texts of columns stand in migrations."""


def _texts() -> Iterator[tuple[str, str]]:
    """Every text that people read, with the file and line it is in."""
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = re.sub(r"{% comment %}.*?{% endcomment %}|{#.*?#}", _blank, path.read_text(), flags=re.DOTALL)
        quoted = re.compile(r"(?:words|button|message|guide|what)=\"([^\"{]+)\"")
        for part in quoted.finditer(text):
            yield _place(path, text, part.start()), part[1]
        text = re.sub(r"{%.*?%}|{{.*?}}", _blank, text, flags=re.DOTALL)
        shown = re.compile(r"(?:aria-label|placeholder|title|data-confirm)=\"([^\"]+)\"|>([^<>]+)<")
        for part in shown.finditer(re.sub(r"<(script|style|svg|pre|code)\b.*?</\1>", _blank, text, flags=re.DOTALL)):
            yield _place(path, text, part.start()), part[1] or part[2]
    for app in PRODUCT:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" not in path.parts and not set(path.parts) & set(STORED):
                yield from _literals(path)
    for path in sorted((ROOT / "static" / "js").rglob("*.js")):
        text = re.sub(r"^\s*(?://|/?\*).*$", _blank, path.read_text(), flags=re.MULTILINE)
        for part in re.finditer(r"\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\]|\\.)*)`", text):
            yield _place(path, text, part.start()), part[1] or part[2] or ""
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))):
        text = re.sub(r"^```.*?^```", _blank, path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for number, line in enumerate(text.splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`", "", line)


def _literals(path: Path) -> Iterator[tuple[str, str]]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    loose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in loose:
            continue
        if " " in node.value.strip() and not re.search(r"\b(?:SELECT|UPDATE|WHERE|JOIN|FROM)\b", node.value):
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _place(path: Path, text: str, at: int) -> str:
    return f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, at) + 1}"


@pytest.mark.slow
def test_no_phrase_is_left_that_the_list_of_words_replaces() -> None:
    found = []
    for place, text in _texts():
        if place.partition(":")[0] in EXCEPT:
            continue
        if ANY_PHRASE.search(text):
            for phrase, better in PHRASES.items():
                if hit := re.search(phrase, text, re.IGNORECASE):
                    found.append(f"{place}: “{hit[0]}” → {better}: {' '.join(text.split())[:100]}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text", ["Label it anew", "Somebody else did", "82 % of them", "Throw it away", "18 finished, 18 done so far"]
)
def test_a_phrase_is_found(text: str) -> None:
    assert any(re.search(phrase, text, re.IGNORECASE) for phrase in PHRASES)


NOT_A_NOUN = re.compile(
    r"(?:An?|And|Asks|By|Carries|Draws|Every(?:thing|one)?|Finds|From|Gives|Hands|How|In|Is|Keeps|Loads|Makes|Moves"
    r"|Of|Once|Prints|Puts|Reads|Removes|Says|Stores|Takes|Talking|Tells|The|They|To|Turns|Where|Whether"
    r"|Which|Who|Whom|Whose|What|When|Why|Writes)\b"
)


def test_a_module_docstring_begins_with_the_noun_that_a_reader_searches_for() -> None:
    found = []
    for app in (*PRODUCT, "agreement", "shared"):
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            text = path.read_text(encoding="utf-8")
            docstring = re.match(r'(?:#!.*\n)?r?"""(.*?)(?:"""|$)', text, re.MULTILINE)
            first = docstring[1] if docstring else "" if text.strip() else "nothing"
            if not first or NOT_A_NOUN.match(first) or len(first) > 110:
                found.append(f"{path.relative_to(ROOT)}: {first or 'no docstring'}")
    assert not found, "\n".join(found)


def test_every_time_of_day_on_a_page_names_its_zone() -> None:
    """There is one zone for all people, pages, texts and files, so that a date in a text is that of the page."""
    assert settings.TIME_ZONE == "UTC"
    shown = re.compile(r"""\|date:(["'])[^"']*H:i[^"']*\1 \}\}(?! UTC)""")
    found = [
        _place(path, text, hit.start())
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for text in [path.read_text(encoding="utf-8")]
        for hit in shown.finditer(text)
    ]
    assert found == []
