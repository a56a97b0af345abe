"""Values of table cells: number, time, state, labels; each reader raises RowError with a reason."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone

from ingest.errors import Invalid, RowError
from ingest.github.rest_objects import Repository
from ingest.identifiers import NUMBER_MAX, parse_identifier, parse_repository

SHOWN = 60
LABEL_CHARACTERS_MAX = 200
STATES = {"open": "open", "opened": "open", "reopened": "open", "closed": "closed"}
STATE_REASONS = frozenset({"completed", "not_planned", "reopened", "duplicate"})
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip

_NUMBER = re.compile(r"#?(\d{1,10})(?:\.0+)?", re.ASCII)
_PYTHON_TEXT = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*(?:,|(?=[\])]))""", re.DOTALL)
_API_ADDRESS = re.compile(r"(https?://)(?:api\.([^/]+)|([^/]+)/api/v3)/repos/")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].+)?|\d{8}T.+", re.ASCII | re.DOTALL)
_TIME = re.compile(r"[T ,]*\b(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:\s*([ap])\.?m\.?\b)?", re.IGNORECASE | re.ASCII)
_ZONE = re.compile(r"\s*\(?(?:UTC|GMT|Z)?\s*([+-])(\d\d):?(\d\d)\)?$|\s*\(?\b(?:UTC|GMT|Z)\)?$", re.ASCII)
_WEEKDAY = re.compile(r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+", re.IGNORECASE)
_YEAR_FIRST = re.compile(r"(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})", re.ASCII)
_YEAR_LAST = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})", re.ASCII)
_DAY_MONTH = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[ .-]+([a-z]{3,9})[.,]?[ -]+(\d{4})", re.IGNORECASE | re.ASCII)
_MONTH_DAY = re.compile(r"([a-z]{3,9})\.? +(\d{1,2})(?:st|nd|rd|th)?,? +(\d{4})", re.IGNORECASE | re.ASCII)
LONGEST_TIME = 100
"""A longer text is no date, and would be searched for a time from each of its letters."""
_EPOCH = re.compile(r"(\d{10})(\d{3})?(?:\.0+)?", re.ASCII)
_SERIAL = re.compile(r"\d{4,5}(?:\.\d+)?", re.ASCII)


def shown_value(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def read_number(text: str) -> int:
    """The number of an issue, as 12, #12 or 12.0."""
    found = _NUMBER.fullmatch(text)
    if not found:
        raise RowError(f"“{shown_value(text)}” is not the number of an issue.")
    if not 1 <= int(found[1]) <= NUMBER_MAX:
        raise RowError(f"“{shown_value(text)}” is a number which no issue has.")
    return int(found[1])


def read_count(text: str) -> int:
    found = _NUMBER.fullmatch(text)
    if not found or text.startswith("#") or int(found[1]) > NUMBER_MAX:
        raise RowError(f"“{shown_value(text)}” is not a count.")
    return int(found[1])


def read_identifier(text: str) -> tuple[str, str, str, int]:
    """Host, owner, name and number of owner/name#1 or an address, that of the API too."""
    try:
        return parse_identifier(page_address(text))
    except Invalid:
        raise RowError(f"“{shown_value(text)}” is not an issue. Enter owner/name#number or its URL.") from None


def read_repository(text: str) -> Repository:
    try:
        return parse_repository(page_address(text))
    except Invalid:
        raise RowError(f"“{shown_value(text)}” is not a repository. Enter owner/name.") from None


def read_address(text: str) -> str:
    """The address of an issue's page (or of a pull request's)."""
    address = page_address(text)
    if not address.startswith(("https://", "http://")):
        raise RowError(f"“{shown_value(text)}” is not a URL.")
    read_identifier(address)
    return address


def page_address(text: str) -> str:
    """The address of the page that an address of GitHub's API speaks of; any other text as it is."""
    return _API_ADDRESS.sub(lambda found: f"{found[1]}{found[2] or found[3]}/", text.strip(), count=1)


def read_state(text: str) -> str:
    if found := STATES.get(text.lower()):
        return found
    raise RowError(f"“{shown_value(text)}” is neither open nor closed.")


def read_state_reason(text: str) -> str:
    word = re.sub(r"[\s-]+", "_", text.lower())
    if word in STATE_REASONS:
        return word
    raise RowError(f"“{shown_value(text)}” is not one of completed, not planned, duplicate and reopened.")


def read_author(text: str) -> str:
    """A login, with or without @."""
    login = text.removeprefix("@")
    if len(login) > 255 or any(character.isspace() for character in login):
        raise RowError(f"“{shown_value(text)}” is not the login of an account.")
    return login


def read_labels(text: str) -> list[str]:
    """Names in a JSON (or Python) list, or apart by line breaks, semicolons or bars, else by commas."""
    names = _listed(text) if text[0] in "[(" else None
    if names is None:
        separator = next((mark for mark in "\n;|" if mark in text), ",")
        names = text.split(separator)
    found = [name.strip() for name in names if name.strip()]
    if long := [name for name in found if len(name) > LABEL_CHARACTERS_MAX]:
        raise RowError(f"“{shown_value(long[0])}” is too long to be the name of a label.")
    return list(dict.fromkeys(found))


def _listed(text: str) -> list[str] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _python_list(text)
    if not isinstance(value, list):
        return None
    names = [each.get("name") if isinstance(each, dict) else each for each in value]
    found = [name for name in names if isinstance(name, str)]
    return found if len(found) == len(names) else None


def _python_list(text: str) -> list[str] | None:
    """Texts as Python prints a list (or tuple) of them."""
    names = []
    place = 1
    while found := _PYTHON_TEXT.match(text, place):
        names.append(re.sub(r"\\(.)", r"\1", found[1] if found[1] is not None else found[2]))
        place = found.end()
    return names if names and text[place:] in ("]", ")") else None


def read_time(text: str) -> datetime:
    """A moment in UTC, which is what a text without a zone is taken for; a date is its midnight.

    ISO 8601, days with the year first or with the name of the month, seconds since 1970; 3/4/2024 is refused, since it
    can be two days.
    """
    text = " ".join(text.split())
    try:
        if len(text) > LONGEST_TIME:
            raise ValueError
        if _ISO.fullmatch(text):
            return _moment(datetime.fromisoformat(re.sub(r" ?(?:UTC|GMT)$", "+00:00", text)))
        if found := _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(int(found[1]), UTC) + timedelta(milliseconds=int(found[2] or 0))
        return _spelled(text)
    except RowError:
        raise
    except (ValueError, OverflowError):
        pass
    if _SERIAL.fullmatch(text):
        raise RowError(f"“{text}” is a bare number, not a date. Format the column as a date, such as 2024-05-31.")
    raise RowError(f"“{shown_value(text)}” is not a date in a known format. Use 2024-05-31 or 2024-05-31T12:00:00Z.")


def _moment(when: datetime) -> datetime:
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)


def _spelled(text: str) -> datetime:
    """A date, and perhaps a time and a zone. Raises ValueError where it is none, RowError where it is two."""
    rest, hour, minute, second = text, 0, 0, 0
    zone: timezone = UTC
    if found := _TIME.search(text):
        after = text[found.end() :]
        if marked := _ZONE.search(after):
            if marked[1]:
                offset = timedelta(hours=int(marked[2]), minutes=int(marked[3]))
                zone = timezone(-offset if marked[1] == "-" else offset)
            after = after[: marked.start()]
        rest = f"{text[: found.start()].rstrip()} {after.strip()}".strip()
        hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
        if found[4]:
            if not 1 <= hour <= 12:
                raise ValueError
            hour = hour % 12 + (12 if found[4].lower() == "p" else 0)
    year, month, day = _day(_WEEKDAY.sub("", rest).strip(" ,"), text)
    return datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC)


def _day(text: str, whole: str) -> tuple[int, int, int]:
    if found := _YEAR_FIRST.fullmatch(text):
        return int(found[1]), int(found[2]), int(found[3])
    if found := _YEAR_LAST.fullmatch(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        if first != second and first <= 12 and second <= 12:
            one, other = f"{year}-{second:02}-{first:02}", f"{year}-{first:02}-{second:02}"
            raise RowError(f"“{shown_value(whole)}” can be {one} or {other}. Use one of these formats in the column.")
        return (year, second, first) if first > 12 else (year, first, second)
    if found := _DAY_MONTH.fullmatch(text):
        return int(found[3]), _month(found[2]), int(found[1])
    if found := _MONTH_DAY.fullmatch(text):
        return int(found[3]), _month(found[1]), int(found[2])
    raise ValueError


def _month(name: str) -> int:
    name = name.lower()
    number = MONTHS.index(name[:3]) + 1
    if name not in {MONTHS[number - 1], MONTH_NAMES[number - 1], "sept"}:
        raise ValueError
    return number
