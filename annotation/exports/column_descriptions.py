"""Column descriptions of exported files, as the Exports page shows them."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.labels.resolution_notes import NOTES


@dataclass(frozen=True)
class ExportPageText:
    """What the page says of a file that it writes while it is sent."""

    title: str
    words: str
    columns: Mapping[str, str]
    """By name, in their order."""
    rest: str
    """The same over REST, below the address of the study."""


LABELS = ExportPageText(
    title="Agreed labels",
    words="One row per item, part and dimension on which raters agree or that was resolved.",
    columns={
        "item": "owner/name#number, or the identifier as imported",
        "repository": "the issue’s repository, if any",
        "number": "the issue’s number",
        "part": "1 … if an issue has several",
        "round": "the round that provides the label",
        "round_label": "the round’s name in the imported sheet",
        "round_kind": "pilot, main, screening or relabel",
        "dimension": "key",
        "values": "keys of categories, true or false, a number, a text",
        "method": "unanimous or single: planned raters, blind as far as Concord knows. Otherwise its basis: "
        "third_rater, majority, adjudicator (also an owner without a stated method), discussion, owner, imported, "
        "not_blind, relabel, relabel_single",
        "taxonomy_version": "the version of the values",
        "resolved_at": "when it was resolved, if it was",
        "raters": "the codes of the raters who labeled it",
        "original_values": "as originally agreed",
        "original_version": "the version of the original label",
        "unmapped": "why there are no values in this version, if so",
        "screened_out": "whether the item is screened out (and kept, in a round that does not screen)",
    },
    rest="labels/",
)
RATINGS = ExportPageText(
    title="Ratings",
    words="Labels of each rater: blind, and current if changed in discussion. For calibration items: first, and "
    "current if changed after feedback.",
    columns={
        "item": "as above",
        "part": "1 …",
        "round": "number",
        "round_label": "as above",
        "round_kind": "as above",
        "rater": "code: R1, R2 …",
        "role": "rater: one of the item’s planned raters, whom agreement compares; third: a third rater; relabel: "
        "one who relabeled; model: a model rater",
        "dimension": "key",
        "values": "as above; PENDING where a category was proposed",
        "memo": "the rater’s memo",
        "seconds": "spent with the page in sight",
        "training": "whether it is a calibration item, which counts in no result",
        "revision": "blind: given before the rater could read labels of others in Concord (of labels from a sheet, as "
        "it brought them: nobody knows whether they were blind); first: of a calibration item before feedback, or in a "
        "relabeling round; or current",
        "taxonomy_version": "the version of the values",
        "original_values": "as submitted",
        "original_version": "the version at submission",
        "unmapped": "why there are no values in this version, if so",
        "screened_out": "whether the item is screened out (and kept, in a round that does not screen)",
    },
    rest="ratings/",
)
RESOLUTIONS = ExportPageText(
    title="Resolutions",
    words="Every resolution of a disagreement, with its rationale. A later revision replaces an earlier one.",
    columns={
        "item": "as above",
        "part": "1 …",
        "round": "number",
        "round_label": "as above",
        "dimension": "key",
        "revision": "1 …",
        "values": "as above; none: the part has no value there",
        "method": "adjudicator (also an owner without a stated method), discussion, third_rater, majority, owner, "
        "imported; reopened: the resolution before it no longer counts",
        "reported_as": "how the methods report it: the method as far as the facts support it, or meeting",
        "meeting_held_on": "day of the meeting that was stated; none: no meeting",
        "meeting_participants": "its participants, as stated; raters by code",
        **{name: note.meaning for name, note in NOTES.items()},
        "decider": "rule, person or import",
        "decided_by": "user name; empty for a rule",
        "decided_at": "when",
        "no_part": "true: the part was resolved as one that does not exist, on every dimension",
    },
    rest="resolutions/",
)
ISSUES = ExportPageText(
    title="Issues",
    words="Every item with the text of its pinned snapshot, its comments and its closing changes.",
    columns={
        "item": "as above",
        "repository": "owner/name",
        "number": "of the issue",
        "title": "of the pinned snapshot, like all columns that follow",
        "body": "Markdown",
        "state": "open or closed",
        "state_reason": "completed, not_planned …",
        "github_labels": "names of GitHub’s labels",
        "author": "a pseudonym, unless the settings say otherwise",
        "created_at": "when it was opened",
        "closed_at": "when it was closed",
        "n_comments": "as GitHub counts them",
        "comments": "author, created_at and body of each; empty where they are not known",
        "closed_by": "pull requests and commits; empty where they are not known",
        "merged_at": "when the first of them was merged",
        "additions": "lines added by those merged, together",
        "deletions": "lines deleted",
        "files": "files changed",
        "presence": "here, deleted, transferred, discussion: the issue’s status at GitHub",
        "screening": "unscreened, in or out",
        "screening_reason": "why",
        "snapshot": "SHA-256 of the pinned snapshot",
        "n_answers_on_other_states": "answers given (or imported) while another snapshot was pinned, so their "
        "raters read that one",
    },
    rest="issues/",
)
CHANGES = ExportPageText(
    title="Changes",
    words="Every pull request and commit that closed an item’s issue, and linked pull requests that were not "
    "merged. A pull request and the commit it was merged as are one row.",
    columns={
        "item": "as above",
        "kind": "pull_request or commit",
        "change": "owner/name#number, or owner/name@SHA",
        "number": "of the pull request",
        "sha": "of the commit",
        "title": "of the pull request, or the first line of the commit message",
        "author": "a pseudonym, unless the settings say otherwise",
        "created_at": "when the pull request was opened, or the commit written",
        "merged_at": "when the pull request was merged, or the commit made",
        "merged": "true or false",
        "closes": "false: linked, but not merged, so it closed nothing",
        "additions": "lines added",
        "deletions": "lines deleted",
        "files": "files changed",
        "paths": "path, additions and deletions of each file",
        "html_url": "its page",
    },
    rest="changes/",
)
