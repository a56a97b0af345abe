"""The form of a replication package: what goes in, and how people stand in it."""

from typing import Any

from django import forms

from annotation.package.papers import LICENCES

TEXTS = (
    ("referenced", "Left where they are: the package has addresses, and the SHA-256 of what raters read"),
    ("included", "In the package: titles, descriptions and comments as raters read them"),
    ("left_out", "Left out: nothing but the identifiers of items"),
)


class PackageForm(forms.Form):
    """What is asked for; the action judges it."""

    texts = forms.ChoiceField(
        label="Texts of the issues",
        choices=TEXTS,
        initial="referenced",
        widget=forms.RadioSelect,
        help_text="They belong to the people who wrote them. Your licence can’t cover them.",
    )
    pseudonymise = forms.BooleanField(
        label="People by pseudonyms",
        required=False,
        initial=True,
        help_text="Authors, commenters and mentions, in texts too. Raters stand there by their codes either way.",
    )
    licence = forms.ChoiceField(
        label="Licence of labels, ratings and figures",
        choices=[(name, title if name == "none" else f"{title} ({name})") for name, (title, _) in LICENCES.items()],
        initial="CC-BY-4.0",
    )
    authors = forms.CharField(
        label="Authors to be cited",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One in each line, as Family, Given.",
    )

    @property
    def options(self) -> dict[str, Any]:
        """What the action takes."""
        return {**self.cleaned_data, "authors": self.cleaned_data["authors"].splitlines()}
