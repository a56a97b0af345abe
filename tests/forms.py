"""What a browser sends of a form."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Form:
    """A form of a page: where it is sent, its fields as they are shown, its buttons (name and value), and its text."""

    action: str
    method: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def add(self, name: str, value: str) -> None:
        if name:
            self.fields.setdefault(name, []).append(value)

    @property
    def sent(self) -> dict[str, list[str]]:
        """Its fields; lines end as a browser sends them."""
        return {name: [value.replace("\n", "\r\n") for value in values] for name, values in self.fields.items()}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._is_inside = False
        self._select = self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        name, kind = of.get("name", ""), of.get("type", "")
        if tag == "form":
            self.forms.append(Form(of.get("action", ""), of.get("method", "get").lower()))
            self._is_inside = True
        if not self._is_inside:
            return
        form = self.forms[-1]
        if tag == "select":
            self._select = name
        elif tag == "option" and "selected" in of:
            form.add(self._select, of.get("value", ""))
        elif tag == "textarea":
            self._textarea = name
            form.add(name, "")
        elif tag == "button" and kind in ("", "submit") and "formaction" not in of:
            form.buttons.append((name, of.get("value", "")))
        elif tag == "input" and kind != "file" and (kind not in ("checkbox", "radio", "submit") or "checked" in of):
            form.add(name, of.get("value", "on" if kind == "checkbox" else ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._textarea:  # a break after its tag is none of its text
            texts = self.forms[-1].fields[self._textarea]
            texts[-1] = texts[-1].removeprefix("\n")
            self._textarea = ""
        if tag == "form":
            self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.forms[-1].fields[self._textarea][-1] += data
        elif self._is_inside:
            self.forms[-1].words.append(data)


def forms_of(page: str) -> Iterator[Form]:
    """The forms of a page that are posted."""
    reader = _Reader()
    reader.feed(page)
    return (form for form in reader.forms if form.method == "post")


def sent_by(page: str, button: str) -> dict[str, list[str]]:
    """What is sent of the one form with this word."""
    (form,) = (each for each in forms_of(page) if button in "".join(each.words))
    return form.sent
