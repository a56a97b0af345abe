"""Forms of transfer: duplicate, delete, import a study, link a member."""

from django import forms


class DuplicateForm(forms.Form):
    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Address", max_length=80, help_text="Lowercase letters, digits and hyphens. It can't be changed later."
    )
    with_items = forms.BooleanField(
        required=False,
        initial=True,
        label="Its samples and items",
        help_text="each with its pinned snapshot; without screening",
    )
    with_members = forms.BooleanField(
        required=False, label="Its members", help_text="with their roles and codes; otherwise only you, as owner"
    )


class DeleteForm(forms.Form):
    typed = forms.CharField(label="Type its ID to confirm", max_length=80, widget=forms.TextInput)

    def __init__(self, *args: object, slug: str, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.fields["typed"].help_text = f"Type {slug}."
        self.fields["typed"].widget.attrs["autocomplete"] = "off"


class ArrivalForm(forms.Form):
    file = forms.FileField(label="File", help_text="The ZIP file of a full export.", widget=forms.FileInput)
    slug = forms.CharField(label="Address", max_length=80, required=False, help_text="Leave empty to keep its ID.")
