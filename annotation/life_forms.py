"""The forms of a study's life: duplicating, deleting, importing one, joining a member."""

from django import forms


class DuplicateForm(forms.Form):
    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Address", max_length=80, help_text="Small letters, digits and hyphens; it stays as it is."
    )
    with_items = forms.BooleanField(
        required=False,
        initial=True,
        label="Its samples and items",
        help_text="each with the text that raters read; none is screened",
    )
    with_members = forms.BooleanField(
        required=False, label="Its members", help_text="with their roles and codes; else you alone, as owner"
    )


class DeleteForm(forms.Form):
    typed = forms.CharField(label="Its address, typed out", max_length=80, widget=forms.TextInput)

    def __init__(self, *args: object, slug: str, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.fields["typed"].help_text = f"Type {slug}."
        self.fields["typed"].widget.attrs["autocomplete"] = "off"


class ArrivalForm(forms.Form):
    file = forms.FileField(
        label="File", help_text="The zip of a whole study, as Concord made it.", widget=forms.FileInput
    )
    slug = forms.CharField(
        label="Address", max_length=80, required=False, help_text="Left empty, the study keeps the one that it had."
    )
