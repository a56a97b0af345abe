"""Form of a replication package: its contents, and how people appear in it."""

from typing import Any

from django import forms

from annotation.exports.package_options import LICENCES

TEXTS = (
    ("referenced", "Referenced: the package has URLs and the SHA-256 of the pinned snapshots"),
    ("included", "Included: titles, descriptions and comments of the pinned snapshots"),
    ("left_out", "Excluded: only the IDs of items"),
)


class PackageForm(forms.Form):
    """What is asked for; the action judges it."""

    texts = forms.ChoiceField(
        label="Texts of the issues",
        choices=TEXTS,
        initial="referenced",
        widget=forms.RadioSelect,
        help_text="They belong to the people who wrote them. Your license can’t cover them.",
    )
    pseudonymise = forms.BooleanField(
        label="Pseudonyms for people",
        required=False,
        initial=True,
        help_text="Authors, commenters and mentions, in texts too. Raters always appear by code.",
    )
    licence = forms.ChoiceField(
        label="License of labels, ratings and figures",
        choices=[(name, title if name == "none" else f"{title} ({name})") for name, (title, _) in LICENCES.items()],
        initial="CC-BY-4.0",
    )
    authors = forms.CharField(
        label="Authors to be cited",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One per line, as Family, Given.",
    )

    @property
    def options(self) -> dict[str, Any]:
        """What the action takes."""
        return {**self.cleaned_data, "authors": self.cleaned_data["authors"].splitlines()}
