"""The form of a new reader link."""

from django import forms

from annotation.actions.reader_links import LONGEST_LABEL, MOST_DAYS


class ReaderLinkForm(forms.Form):
    label = forms.CharField(
        max_length=LONGEST_LABEL, label="Whom it is for", help_text="Only you see this; “reviewers of ICSE”, say."
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=MOST_DAYS,
        required=False,
        label="Days it holds",
        help_text="Empty: until it is withdrawn.",
    )
    with_issues = forms.BooleanField(
        required=False,
        label="With the texts of issues",
        help_text="Titles, bodies, comments and quotes, those of private repositories too.",
    )
