"""Names of users, studies, taxonomies, and categories: which characters are rejected. Pure.

Characters are rejected that can't be seen, change the direction of the text around them, or can pass for another name.
"""

import re
import unicodedata

MARKS_MAX = 4
"""So many marks on one letter have Hebrew and Vietnamese; more of them reach into the lines around."""
JOINERS = "\u200c\u200d"
"""Persian and emoji need them, between two signs."""
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0"
_HIDDEN = re.compile(f"[{FILLERS}]|(?:^|(?<=\\s))[{JOINERS}]|[{JOINERS}](?:$|(?=\\s))")
_LOOKALIKES = str.maketrans(
    "авьсԁеёһніїјкӏмпорԛгѕтцѵԝшхуүзбαβεγηικνορστυχωςμ",
    "abbcdeehhiijklmnopqrstuvwwxyy36abeynikvopotuxwcu",
)
"""Small letters of Cyrillic and Greek as they are read by who expects Latin ones."""
IMPORTED = "imported"
"""The mark of names that only a study file gave: someone here can have the same."""


def wrong_in(text: str) -> str:
    """What is wrong with a line of text that is a name, in a sentence; empty where nothing is."""
    if sign := next((sign for sign in text if _is_hidden(sign)), None) or _first(_HIDDEN, text):
        name = unicodedata.name(sign, "a control character").lower()
        return f"Remove the character U+{ord(sign):04X} ({name}): it is invisible or changes the direction of the text."
    if any(len(marks) > MARKS_MAX for marks in _marks(text)):
        return f"More than {MARKS_MAX} marks on one letter. Remove some."
    if text and not any(unicodedata.category(sign)[0] in "LNPS" for sign in text):
        return "No visible characters. Use letters or digits."
    return ""


def wrong_in_user_name(name: str) -> str:
    """As `wrong_in`; a user name is in one alphabet, too, and can't be read as one of Latin letters."""
    if found := wrong_in(name):
        return found
    alphabets = {alphabet for sign in name if (alphabet := _alphabet(sign))}
    if len(alphabets) > 1:
        return f"Letters of {' and '.join(sorted(alphabets))} look alike. Write the name in one alphabet."
    if alphabets - {"Latin"} and name.casefold().translate(_LOOKALIKES).isascii():
        return (
            f"In {alphabets.pop()} letters, this looks like a name in Latin letters. Use Latin letters or add "
            "another letter."
        )
    if "İ" in unicodedata.normalize("NFKC", name):  # the only letter of which the database's `lower` makes another one
        return "In a user name, write İ as I."
    return ""


def is_like_a_code(text: str) -> bool:
    """Whether a name is read as the code of a rater, such as R2."""
    return re.fullmatch("R[0-9]+", unicodedata.normalize("NFKC", text), re.IGNORECASE) is not None


def wrong_in_full_name(text: str) -> str:
    """As `wrong_in`; a full name is no rater code such as R2, either."""
    if found := wrong_in(text):
        return found
    if is_like_a_code(text):
        return f"{text} looks like the code of a rater, which studies give. Add a letter or a word."
    return ""


def folded(name: str) -> str:
    """A user name or rater code as two of them are compared: after NFKC, each letter as its own small letter.

    It is what the database's `lower` gives, which makes user names unique. `upper` and `casefold` make one name of two
    that different accounts can have, such as ivan and ıvan, or strasse and straße.
    """
    return "".join(small if len(small := sign.lower()) == 1 else sign for sign in unicodedata.normalize("NFKC", name))


def clean_name(text: str) -> str:
    """A line as it is seen: without what can't be seen, inner blanks collapsed, nothing around it."""
    if text.isprintable():
        return _HIDDEN.sub("", " ".join(text.split()))
    seen = "".join(" " if sign in "\n\r\t\x0b\x0c\x85\u2028\u2029" else sign for sign in text)
    seen = " ".join("".join(sign for sign in seen if not _is_hidden(sign)).split())
    return _HIDDEN.sub("", seen)


def visible(text: str) -> str:
    """The text without what can't be seen; its line breaks and tabs stay."""
    if text.isascii():
        return text
    return _HIDDEN.sub("", "".join(sign for sign in text if sign in "\n\r\t" or not _is_hidden(sign)))


def _is_hidden(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and sign not in JOINERS


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None


def _marks(text: str) -> list[str]:
    """The runs of marks on letters."""
    runs = "".join("m" if unicodedata.category(sign) in {"Mn", "Me"} else " " for sign in text)
    return runs.split()


def _alphabet(sign: str) -> str:
    """Latin, Cyrillic or Greek for a letter of theirs; they are those that are taken for each other."""
    name = unicodedata.name(sign, "") if sign.isalpha() else ""
    word = name.partition(" ")[0].capitalize()
    return word if word in {"Latin", "Cyrillic", "Greek"} else ""
