"""Form helpers of studies: lists of words, the largest seed, what a page showed when it was opened."""

from django import forms

LARGEST_SEED = 2**63 - 1


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
