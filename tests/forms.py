"""What a browser sends of a form."""

from html.parser import HTMLParser


class _Reader(HTMLParser):
    """The forms of a page, each with its successful fields and all its text."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[dict[str, list[str]], list[str]]] = []
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        name = of.get("name", "")
        if tag == "form":
            self.forms.append(({}, []))
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in of:
            self._add(self._select, of["value"])
        elif tag == "textarea":
            self._textarea = name
            self._add(name, "")
        elif tag == "input" and (of.get("type") not in ("checkbox", "radio", "submit") or "checked" in of):
            self._add(name, of.get("value", "on" if of.get("type") == "checkbox" else ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._textarea and self.forms:  # a break after its tag is none of its text
            texts = self.forms[-1][0][self._textarea]
            texts[-1] = texts[-1].removeprefix("\n")
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea and self.forms:
            self.forms[-1][0][self._textarea][-1] += data
        elif self.forms:
            self.forms[-1][1].append(data)

    def _add(self, name: str, value: str) -> None:
        if name and self.forms:
            self.forms[-1][0].setdefault(name, []).append(value)


def sent_by(page: str, button: str) -> dict[str, list[str]]:
    """The fields of the form with this word, as they are shown; lines end as a browser sends them."""
    reader = _Reader()
    reader.feed(page)
    (fields,) = (fields for fields, words in reader.forms if button in "".join(words))
    return {name: [value.replace("\n", "\r\n") for value in values] for name, values in fields.items()}
