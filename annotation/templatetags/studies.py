"""Template filters for study pages: colors of raters, states, shares."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.forms import BoundField
from django.utils.safestring import SafeString

import agreement
from agreement import COEFFICIENTS, interval_words
from annotation.imports.sheets import rounds as trials
from annotation.models import Round

register = template.Library()

HUES = 8
STATES = {
    Round.State.DRAFT: "state-off",
    Round.State.OPEN: "state-now",
    Round.State.RESOLVING: "state-warn",
    Round.State.CLOSED: "state-closed",
    Round.State.UNDONE: "state-off",
}


@register.filter
def rater_hue(code: str | None) -> str:
    """The class of a rater's colour, the same on every page: R1 is `rater-1`, R9 begins again."""
    number = re.search(r"\d+", code or "")
    return f"rater-{(int(number[0][:9]) - 1) % HUES + 1}" if number else ""


@register.filter
def dimension_hue(position: int) -> str:
    """The class of a dimension's colour, by its place in the version, from 0."""
    return f"dimension-{position % HUES + 1}"


@register.filter
def newest_trial(lines: Iterable[Any]) -> Round | None:
    """The round of these lines that is a trial by its label, and counts as newer than others of sheets."""
    rounds = {line.round.number: line.round for line in lines}
    return rounds.get(trials.newest_trial({number: each.label for number, each in rounds.items()}) or 0)


@register.filter
def round_state(state: str) -> str:
    """The class of `.state` that goes with a round's state."""
    return STATES.get(Round.State(state), "")


@register.filter
def percent(share: float | None) -> str:
    """`45.1 %` of 0.451; empty for none."""
    return "" if share is None else f"{share * 100:.1f}".removesuffix(".0") + "%"


@register.filter
def coefficient_name(name: str) -> str:
    """`Cohen’s kappa` of cohen_kappa."""
    return COEFFICIENTS[name].title if name in COEFFICIENTS else name


@register.filter
def interval(found: object, places: int = 2) -> str:
    """`[0.62, 0.96]`, `at least 0.98` where the bound is one-sided, empty without one; of a mapping or an object."""
    given = found if isinstance(found, Mapping) else vars(found)
    threshold = given.get("threshold")
    return interval_words(given["ci_low"], given["ci_high"], given.get("ci_method"), places, threshold)


@register.filter
def decimals(value: float | None, places: int = 2) -> str:
    """`0.80` of 0.8 and `−0.04` of -0.04; empty for none."""
    return "" if value is None else agreement.decimals(value, places)


@register.filter
def bound(threshold: float) -> str:
    """A threshold with its decimals: `0.80`, `0.667`."""
    return agreement.bound(threshold)


@register.filter
def beside(value: float, threshold: float | None) -> str:
    """A value with as many decimals as show on which side of a threshold it is."""
    return agreement.value_text(value, threshold)


@register.filter
def entries(mapping: dict[str, object]) -> list[tuple[str, object]]:
    """The pairs of a mapping, also of one that has a key `items`."""
    return list(mapping.items())


@register.filter
def at(mapping: dict[str, object], key: str) -> object:
    """What a mapping has under a key, or nothing."""
    return mapping.get(key)


@register.filter
def in_words(value: object) -> str:
    """A value of the audit's details: `yes`, `rater, reader`, or as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@register.filter
def as_shown(field: BoundField) -> SafeString:
    """The hidden field that tells what a page showed here when it was opened (`forms.tell_what_is_shown`).

    A page that is drawn again after an error tells it once more, also where it showed that nothing was chosen, for
    which a browser sends nothing.
    """
    if not field.form.is_bound:
        return field.as_hidden(only_initial=True)
    widget = field.field.hidden_widget()
    showed = widget.value_from_datadict(field.form.data, field.form.files, field.html_initial_name)
    return widget.render(field.html_initial_name, showed, {"id": field.html_initial_id})
