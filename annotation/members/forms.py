"""The form of a new reader link."""

from django import forms

from annotation.members.actions.reader_links import LONGEST_LABEL, MOST_DAYS


class ReaderLinkForm(forms.Form):
    label = forms.CharField(
        max_length=LONGEST_LABEL, label="Name", help_text="Visible to you only, for example “reviewers of ICSE”."
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=MOST_DAYS,
        required=False,
        label="Days until it expires",
        help_text="Leave empty for a link that stays valid until you revoke it.",
    )
    with_issues = forms.BooleanField(
        required=False,
        label="Include issue texts",
        help_text="Titles, bodies, comments and quotes, including those of private repositories.",
    )
