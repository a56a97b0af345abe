"""Form helpers of studies: an action's errors at their fields, lists of words, the largest seed."""

from django import forms

from annotation.core.errors import ConcordError

LARGEST_SEED = 2**63 - 1


def explain(form: forms.Form, error: ConcordError, **fields: str) -> None:
    """Puts what an action refused beside the fields it speaks of; `fields` maps its names to the form's."""
    placed = False
    for path, sentences in error.fields.items():
        name = fields.get(path.replace(".", "_"), path.rpartition(".")[2])
        for sentence in sentences:
            if name in form.fields:
                form.add_error(name, sentence)
                placed = True
            else:
                form.add_error(None, f"{path}: {sentence}")
                placed = True
    if not placed:
        form.add_error(None, error.message)


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word for word in (each.strip() for each in text.split(",")) if word]
