"""Form of a migration plan."""

from collections.abc import Sequence
from typing import Any

from django import forms

from taxonomy.models import TaxonomyVersion


class PlanForm(forms.Form):
    """To which version a study is to move."""

    to = forms.TypedChoiceField(label="Migrate to", coerce=int, error_messages={"invalid_choice": "Choose a version."})

    def __init__(self, *given: Any, versions: Sequence[TaxonomyVersion], **more: Any) -> None:
        super().__init__(*given, **more)
        fields: Any = self.fields
        fields["to"].choices = [
            (each.number, f"version {each.number}" + (" (draft: preview only)" if each.is_draft else ""))
            for each in versions
        ]
