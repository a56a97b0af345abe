"""Form helpers of studies: lists of words, the largest seed, what a page showed when it was opened."""

from collections.abc import Callable

from django import forms
from django.http import QueryDict

LARGEST_SEED = 2**63 - 1
LONGEST_TOLD = 60


def words(text: str) -> list[str]:
    """The entries of a list separated by commas."""
    return [word for word in (each.strip() for each in text.split(",")) if word]


def tell_what_is_shown(form: forms.Form) -> None:
    """Lets a page that edits what is stored send what it showed, too: `changed_data` is then what its person changed.

    What someone else stored since the page was opened stays. Forms that are sent without it are compared with what is
    stored now.
    """
    shown = not form.is_bound or any(name.startswith("initial-") for name in form.data)
    for each in form.fields.values():
        each.show_hidden_initial = shown


def explain_changed_meanwhile(form: forms.Form, group_of: Callable[[str], str] = str) -> None:
    """Refuses a change of a field that someone else changed, too, since the page was opened (`tell_what_is_shown`).

    Fields of a group (by `group_of` their names) are changed together. The form that is shown again has what is stored,
    beside what its person typed; sent once more, that replaces it. Call it under the lock that the change holds.
    """
    if not isinstance(form.data, QueryDict):
        return
    newer = {name for name, field in form.fields.items() if field.show_hidden_initial and not _is_as_shown(form, name)}
    groups = {group_of(name) for name in newer}
    mine = [name for name in form.changed_data if group_of(name) in groups and not _is_stored(form, name)]
    if not mine:
        return
    data = form.data = form.data.copy()
    for name in newer:
        bound = form[name]
        several = bound.initial if isinstance(bound.initial, list | tuple) else None
        stored = [_raw(each) for each in (several if several is not None else [bound.initial])]
        data.setlist(bound.html_initial_name, stored)
        if name not in mine:
            data.setlist(bound.html_name, stored)
            if bound.initial is False:
                del data[bound.html_name]
    for name in mine:
        told = f", to “{_short(form[name].initial)}”" if name in newer else ""
        form.add_error(
            name, f"Someone else changed this after you opened the page{told}. Save again to replace it with yours."
        )


def _is_as_shown(form: forms.Form, name: str) -> bool:
    """Whether a field is stored as the page showed it; a choice of nothing is sent as nothing."""
    field, bound = form.fields[name], form[name]
    if bound.html_initial_name not in form.data and not isinstance(field, forms.MultipleChoiceField):
        return True
    showed = field.hidden_widget().value_from_datadict(form.data, form.files, bound.html_initial_name)
    if isinstance(showed, str):
        showed = showed.replace("\r\n", "\n")
    return not field.has_changed(field.to_python(bound.initial), showed)


def _is_stored(form: forms.Form, name: str) -> bool:
    """Whether what was typed is what is stored already."""
    field = form.fields[name]
    return not field.has_changed(field.to_python(form[name].initial), form[name].data)


def _raw(value: object) -> str:
    """A value as a form sends it."""
    return "" if value is None else str(value)


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    said = ", ".join(map(str, value)) if isinstance(value, list | tuple) else _raw(value)
    return said if len(said) <= LONGEST_TOLD else f"{said[:LONGEST_TOLD]}…"
