"""Data dictionary of a package: its tables and their columns."""

from collections.abc import Iterable, Sequence

from agreement import CI_METHODS
from annotation.labels.resolution_notes import NOTES
from annotation.package.tables import PackageColumn, PackageTable, TableReference
from taxonomy.kinds import KINDS

ROUND = PackageColumn("round", "integer", "Number of the round.", is_required=True)
ITEM = PackageColumn("item", "string", "owner/name#number, or the identifier as imported.", is_required=True)
PART = PackageColumn("part", "integer", "From 1, where an issue has several parts.", is_required=True)
VERSION = PackageColumn("taxonomy_version", "integer", "Number of the version of the taxonomy.", is_required=True)
TAXONOMY = PackageColumn("taxonomy", "string", "Slug of the taxonomy.", is_required=True)
OF_ITEM = TableReference(["item"], "items", ["item"])
OF_ROUND = TableReference(["round"], "rounds", ["round"])
OF_RATER = TableReference(["rater"], "raters", ["rater"])
OF_VERSION = ["taxonomy", "taxonomy_version", "dimension"]
ROUND_KINDS = ("screening", "pilot", "main", "relabel")
VALUES = "Keys of categories, several joined by ;, or true, false, a number, a text; []: the empty set."
RATING = ["round", "item", "rater", "revision", "part"]
FIRST = "Whether it is of the rater's first answer. Of calibration items: the one before the rater saw what is known."
GIVEN = (
    PackageColumn("revision", "integer", "Of the answer.", is_required=True),
    PackageColumn("first", "boolean", FIRST, is_required=True),
    PackageColumn(
        "blind",
        "boolean",
        "Whether it is of the last answer that this rater submitted before the others' labels were visible. Those of "
        "third raters, model raters and calibration items (answers.role, round_items.training) do not count.",
        is_required=True,
    ),
    PackageColumn("current", "boolean", "Whether it is of the answer that is valid now.", is_required=True),
    PART,
)
"""To which answer and part belongs what a rater gave."""
READ = PackageColumn(
    "snapshot", "string", "SHA-256 of the state of the issue that it was given on; empty where it came from a sheet."
)


def _words(*words: str) -> list[tuple[str, str]]:
    return [(word, word) for word in words]


def _rater(codes: Sequence[str]) -> PackageColumn:
    return PackageColumn("rater", "string", "The rater's code.", [(code, code) for code in codes], is_required=True)


def _dimension(dimensions: Sequence[tuple[str, str]]) -> PackageColumn:
    return PackageColumn("dimension", "string", "Key of the dimension.", dimensions, is_required=True)


def tables(
    dimensions: Sequence[tuple[str, str]],
    codes: Sequence[str],
    wide: Sequence[PackageColumn],
    *,
    texts: str,
    attributes: Sequence[str] = (),
) -> dict[str, PackageTable]:
    """The tables by name. `dimensions` are all (key, title), `codes` those of raters, `wide` a column per dimension.

    `attributes` are the names of what was imported with items. `texts` says what of the issues is in: `included`,
    `referenced` (which, not what they say), or `left_out`.
    """
    dimension, rater = _dimension(dimensions), _rater(codes)
    found = [
        _rounds(),
        _raters(rater),
        _dimensions(dimension),
        _categories(dimension),
        _items(attributes),
        _round_items(),
        _known_labels(dimension),
    ]
    found += [_answers(rater), _ratings(rater, dimension), _resolutions(dimension), _labels(dimension), _wide(wide)]
    if texts != "left_out":
        found += [_evidence(rater, dimension, has_texts=texts == "included"), _issues(has_texts=texts == "included")]
        found += [_changes(has_texts=texts == "included")]
    return {each.name: each for each in found}


def _rounds() -> PackageTable:
    return PackageTable(
        "rounds",
        "Rounds",
        "Every round that counts.",
        [
            ROUND,
            PackageColumn("label", "string", "What the sheet that it came from calls it."),
            PackageColumn("kind", "string", "What the round is for.", _words(*ROUND_KINDS), is_required=True),
            PackageColumn("state", "string", "How far it is.", _words("open", "resolving", "closed"), is_required=True),
            TAXONOMY,
            VERSION,
            PackageColumn(
                "told_version",
                "integer",
                "The version to which its agreed labels are mapped: its own, or that of a migration.",
                is_required=True,
            ),
            PackageColumn("raters_per_item", "integer", "Number of raters planned for an item."),
            PackageColumn(
                "double_share", "number", "Share of the items that get all of them, 0 to 1; the others get one."
            ),
            PackageColumn(
                "mode",
                "string",
                "How items were assigned; says nothing of a round from a sheet.",
                _words("planned", "pool"),
            ),
            PackageColumn("seed", "integer", "Of the raters' orders and pairs; says nothing of a round from a sheet."),
            PackageColumn("sample", "integer", "The sample that its items come from, where they come from one."),
            PackageColumn("n_items", "integer", "Number of items, calibration items included."),
            PackageColumn("due_on", "string", "Its due date, if it had one."),
            PackageColumn(
                "opened_at", "datetime", "When it was opened; of a round from a sheet, when it was imported."
            ),
            PackageColumn(
                "resolving_at",
                "datetime",
                "When it went from open to resolving; third raters and changed labels can come later.",
            ),
            PackageColumn("closed_at", "datetime", "When it was closed, also with disagreements left open."),
        ],
        ["round"],
    )


def _raters(rater: PackageColumn) -> PackageTable:
    return PackageTable(
        "raters",
        "Raters",
        "The members with the code of a rater, also those without a label.",
        [
            rater,
            PackageColumn(
                "kind", "string", "Whether a person or a model rater.", _words("person", "machine"), is_required=True
            ),
            PackageColumn("machine_name", "string", "Of a model rater: the model."),
            PackageColumn("machine_version", "string", "Of a model rater: the model's version."),
            PackageColumn("machine_prompt", "string", "Of a model rater: the prompt."),
        ],
        ["rater"],
    )


def _dimensions(dimension: PackageColumn) -> PackageTable:
    return PackageTable(
        "dimensions",
        "Dimensions",
        "The dimensions of each version of the taxonomies; their order is that of the rows.",
        [
            TAXONOMY,
            VERSION,
            dimension,
            PackageColumn("title", "string", "As raters read it."),
            PackageColumn("kind", "string", "What can be answered.", _words(*KINDS), is_required=True),
            PackageColumn("required", "boolean", "Whether an answer must be given where it is asked."),
            PackageColumn("applies_when", "string", "The dimension on which it depends, if it is conditional."),
            PackageColumn("applies_when_is", "list", "Its values under which this one is asked, with all below them."),
            PackageColumn("help", "string", "What else raters read with the question."),
        ],
        OF_VERSION,
    )


def _categories(dimension: PackageColumn) -> PackageTable:
    return PackageTable(
        "categories",
        "Categories",
        "The categories of each version of the taxonomies, in the order of the tree.",
        [
            TAXONOMY,
            VERSION,
            dimension,
            PackageColumn("category", "string", "Its key.", is_required=True),
            PackageColumn("name", "string", "As raters read it.", is_required=True),
            PackageColumn("parent", "string", "Key of the category above."),
            PackageColumn("path", "string", "Keys from the top of the tree down to it, joined by /.", is_required=True),
            PackageColumn("selectable", "boolean", "Whether it can be chosen itself."),
            PackageColumn("definition", "string", "What it means."),
            PackageColumn("include", "list", "What belongs to it."),
            PackageColumn("exclude", "list", "What does not."),
            PackageColumn("examples", "list", "Lines of issues that show it."),
        ],
        [*OF_VERSION, "category"],
        [TableReference(OF_VERSION, "dimensions", OF_VERSION)],
    )


def _items(attributes: Sequence[str]) -> PackageTable:
    named = f": {', '.join(attributes)}" if attributes else ""
    imported = f"What was imported with it, as JSON{named}."
    return PackageTable(
        "items",
        "Items",
        "The issues of the study, or identifiers that were imported: where they come from and what is known of them.",
        [
            ITEM,
            PackageColumn("repository", "string", "owner/name, where it is an issue."),
            PackageColumn("number", "integer", "Number of the issue."),
            PackageColumn("url", "string", "Its address."),
            PackageColumn(
                "screening", "string", "Whether it was taken.", _words("unscreened", "in", "out"), is_required=True
            ),
            PackageColumn("screening_reason", "string", "Why it was excluded."),
            PackageColumn("samples", "list", "Numbers of the samples that drew it."),
            PackageColumn("stratum", "string", "The stratum it was drawn from, in the newest of them."),
            PackageColumn("rounds", "list", "Numbers of its rounds."),
            PackageColumn(
                "snapshot", "string", "SHA-256 of the state pinned to the item; answers.snapshot has what raters read."
            ),
            PackageColumn(
                "n_answers_on_other_states",
                "integer",
                "How many current answers were given on another state than that one; those of sheets are not known.",
                is_required=True,
            ),
            PackageColumn("state", "string", "open or closed, in that state.", _words("open", "closed")),
            PackageColumn("created_at", "datetime", "When the issue was opened."),
            PackageColumn("closed_at", "datetime", "When it was closed."),
            PackageColumn("days_open", "number", "Days from opening to closing."),
            PackageColumn("comments", "number", "Comments, as counted by the host."),
            PackageColumn("participants", "number", "People who wrote in it; empty where comments are not known."),
            PackageColumn("lines", "number", "Lines added and deleted by the merged changes that closed it, together."),
            PackageColumn("files", "number", "Files changed by them."),
            PackageColumn("n_fixes", "number", "Number of these; empty where closing changes are not known."),
            PackageColumn("days_to_fix", "number", "Days from opening to the first merge."),
            PackageColumn("merged_at", "datetime", "When the first of them was merged."),
            PackageColumn("attributes", "object", imported),
        ],
        ["item"],
    )


def _round_items() -> PackageTable:
    return PackageTable(
        "round_items",
        "Items of rounds",
        "Which items a round has, in its order.",
        [
            ROUND,
            ITEM,
            PackageColumn("position", "integer", "Position in the round's order."),
            PackageColumn("n_raters", "integer", "Number of raters planned for the item.", is_required=True),
            PackageColumn(
                "training",
                "boolean",
                "Whether it is a calibration item: its labels are known (known_labels), and labels of it count neither "
                "in agreement nor in agreed labels.",
                is_required=True,
            ),
            PackageColumn(
                "asked",
                "object",
                "In a relabeling queue: [part, dimension] of the agreed labels to relabel. []: none, only ratings of "
                "its raters are. Empty: everything.",
                is_set=True,
            ),
        ],
        ["round", "item"],
        [OF_ROUND, OF_ITEM],
    )


def _known_labels(dimension: PackageColumn) -> PackageTable:
    return PackageTable(
        "known_labels",
        "Known labels",
        "The gold answers of calibration items, in long form. Dimensions that are not listed are not known, and raters "
        "are not judged by them; results/training.json has how raters did.",
        [
            ROUND,
            ITEM,
            PART,
            dimension,
            PackageColumn("values", "list", VALUES, is_set=True),
            PackageColumn("n_parts", "integer", "How many parts the item is known to have.", is_required=True),
            VERSION,
            PackageColumn("why", "string", "The explanation that raters read with the feedback."),
        ],
        ["round", "item", "part", "dimension"],
        [OF_ROUND, OF_ITEM, TableReference(["round", "item"], "round_items", ["round", "item"])],
    )


def _answers(rater: PackageColumn) -> PackageTable:
    return PackageTable(
        "answers",
        "Answers",
        "Every revision of what a rater submitted that counts, a row for each part; also what is not answered yet. Of "
        "calibration items also the first answer, which counts as the rater's try.",
        [
            ROUND,
            ITEM,
            rater,
            PackageColumn(
                "role",
                "string",
                "Only ratings of those who hold a slot of the item (rater) count in agreement.",
                [
                    ("rater", "holds a slot of the item"),
                    ("third_rater", "was asked because others differed"),
                    ("machine", "answered in addition to the raters"),
                ],
                is_required=True,
            ),
            PackageColumn(
                "state",
                "string",
                "What the rater did with the item.",
                _words("waiting", "leased", "submitted", "skipped"),
                is_required=True,
            ),
            PackageColumn("revision", "integer", "From 1; 0: nothing is submitted yet.", is_required=True),
            PackageColumn("first", "boolean", FIRST),
            PackageColumn(
                "blind",
                "boolean",
                "Whether it is the last one before this rater could see others'; nobody knows it of a sheet's.",
            ),
            PackageColumn("current", "boolean", "Whether it is the one that counts now."),
            PackageColumn(
                "part", "integer", "From 1; 0 where the item was skipped, or is not answered yet.", is_required=True
            ),
            PackageColumn("agreed_part", "integer", "Which part of the item this part is, where parts were matched."),
            PackageColumn("matched", "boolean", "Whether it was matched by hand."),
            PackageColumn("n_parts", "integer", "How many parts this answer has."),
            PackageColumn("skip_reason", "string", "Why it was skipped."),
            PackageColumn("memo", "string", "What the rater noted."),
            PackageColumn("confidence", "integer", "1 unsure, 2 fairly sure, 3 sure."),
            PackageColumn("seconds", "integer", "Time spent with the page in sight."),
            PackageColumn("flagged", "boolean", "Whether the rater wanted to talk about it."),
            READ,
        ],
        RATING,
        [OF_ROUND, OF_ITEM, OF_RATER],
    )


def _ratings(rater: PackageColumn, dimension: PackageColumn) -> PackageTable:
    return PackageTable(
        "ratings",
        "Ratings",
        "Labels of each rater in long form: blind (before discussion, or as a sheet brought them) and current (after "
        "it), and of calibration items first (before the feedback).",
        [
            ROUND,
            ITEM,
            rater,
            *GIVEN,
            dimension,
            PackageColumn("values", "list", f"{VALUES} PENDING: a category is asked for that is missing.", is_set=True),
            VERSION,
            PackageColumn("proposal", "string", "Name of the category that is asked for."),
            PackageColumn("proposal_memo", "string", "Why."),
            READ,
        ],
        [*RATING, "dimension"],
        [TableReference(RATING, "answers", RATING)],
    )


def _evidence(rater: PackageColumn, dimension: PackageColumn, *, has_texts: bool) -> PackageTable:
    quote = PackageColumn("quote", "string", "The words themselves.", is_required=True)
    return PackageTable(
        "evidence",
        "Evidence",
        "Which words of an issue a rating rests on, where its rater marked some.",
        [
            ROUND,
            ITEM,
            rater,
            *GIVEN,
            dimension,
            PackageColumn(
                "category", "string", "Which one it speaks for. PENDING: one that is asked for.", is_required=True
            ),
            PackageColumn(
                "where", "string", "Where the quote is.", _words("title", "body", "comment"), is_required=True
            ),
            PackageColumn("comment", "integer", "Number of the comment in the thread as it was read."),
            PackageColumn(
                "start", "integer", "The first character in the Markdown, from 0; empty where it was not found."
            ),
            PackageColumn("end", "integer", "The character after the last."),
            *((quote,) if has_texts else ()),
            PackageColumn("snapshot", "string", "SHA-256 of the snapshot of the issue that contains them."),
        ],
        references=[TableReference([*RATING, "dimension"], "ratings", [*RATING, "dimension"])],
    )


def _resolutions(dimension: PackageColumn) -> PackageTable:
    return PackageTable(
        "resolutions",
        "Resolutions",
        "Every resolution of a part on a dimension, also where raters agree; a later revision replaces an earlier one.",
        [
            ROUND,
            ITEM,
            PART,
            dimension,
            PackageColumn("revision", "integer", "From 1.", is_required=True),
            PackageColumn("values", "list", f"{VALUES} []: the part has no value there.", is_set=True),
            PackageColumn(
                "method",
                "string",
                "How it was decided. adjudicator is also an owner who stated no method.",
                _words("adjudicator", "discussion", "third_rater", "majority", "owner", "imported", "reopened"),
                is_required=True,
            ),
            PackageColumn(
                "reported_as",
                "string",
                "How the methods report it: the method as far as remarks, answers and roles bear it out, or a meeting "
                "that the person who resolved it stated.",
                _words(
                    "adjudicator", "discussion", "meeting", "third_rater", "majority", "owner", "imported", "reopened"
                ),
                is_required=True,
            ),
            PackageColumn("meeting_held_on", "string", "The day of the meeting that was stated, if there was one."),
            PackageColumn("meeting_participants", "list", "Who took part in it: raters by code, others by pseudonym."),
            *(PackageColumn(name, "string", note.sentence) for name, note in NOTES.items()),
            PackageColumn(
                "decider",
                "string",
                "Who resolved it: a rule of the study, a person, or an import.",
                _words("rule", "person", "import"),
                is_required=True,
            ),
            PackageColumn("decided_by", "string", "A rater's code, or a pseudonym."),
            PackageColumn("decided_at", "datetime", "When."),
            PackageColumn(
                "no_part", "boolean", "The part was resolved as one that does not exist, on every dimension."
            ),
        ],
        ["round", "item", "part", "dimension", "revision"],
        [OF_ROUND, OF_ITEM],
    )


def _labels(dimension: PackageColumn) -> PackageTable:
    return PackageTable(
        "labels",
        "Agreed labels",
        "What counts in the end, in long form: a row where raters agree on a part of an item, or where it was decided.",
        [
            ITEM,
            PART,
            ROUND,
            dimension,
            PackageColumn("values", "list", f"{VALUES} Mapped to taxonomy_version.", is_set=True),
            PackageColumn(
                "method",
                "string",
                "What the label rests on. unanimous and single are of the planned raters alone, each blind as far as "
                "Concord knows: a sheet does not show it. "
                "third_rater, majority, adjudicator, discussion (in remarks, or in a meeting that was stated), owner "
                "and imported: that settled it, or a question above for which a planned rater gave no label here. "
                "not_blind: all alike, but one answer was not given blind. relabel and relabel_single: several raters "
                "of a relabeling round, or one alone.",
            ),
            VERSION,
            PackageColumn("original_values", "list", "As they were agreed.", is_set=True),
            PackageColumn("original_version", "integer", "The version they were agreed under.", is_required=True),
            PackageColumn("unmapped", "string", "Why there are no values in this version, where there are none."),
            PackageColumn("raters", "list", "Codes of those who answered."),
            PackageColumn("resolved_at", "datetime", "When it was resolved, if it was."),
        ],
        ["item", "part", "dimension"],
        [OF_ITEM],
    )


def _wide(wide: Sequence[PackageColumn]) -> PackageTable:
    means = "The same in wide form: a row per item and part, a column per dimension."
    return PackageTable("labels_wide", "Agreed labels, wide", means, [ITEM, PART, *wide], ["item", "part"], [OF_ITEM])


def _issues(*, has_texts: bool) -> PackageTable:
    texts: Iterable[PackageColumn] = (
        PackageColumn("title", "string", "Of the state pinned to the item, as all that follows."),
        PackageColumn("body", "string", "Markdown."),
        PackageColumn("github_labels", "list", "Names of the host's labels."),
        PackageColumn("author", "string", "Who opened it."),
        PackageColumn("comments", "object", "A list of author, created_at and body; empty where they are not known."),
    )
    return PackageTable(
        "issues",
        "Issues",
        "The text pinned to each item." if has_texts else "Where the text is that is pinned to each item.",
        [
            ITEM,
            PackageColumn("repository", "string", "owner/name."),
            PackageColumn("number", "integer", "Number of the issue."),
            PackageColumn("url", "string", "Its address."),
            PackageColumn(
                "snapshot", "string", "SHA-256 of title, body, state, labels and comments as they are pinned."
            ),
            *(texts if has_texts else ()),
        ],
        ["item"],
        [OF_ITEM],
    )


def _changes(*, has_texts: bool) -> PackageTable:
    texts = (PackageColumn("title", "string", "Of the pull request, or the first line of the commit message."),)
    return PackageTable(
        "changes",
        "Changes",
        "The pull requests and commits that closed the issues, and linked pull requests that were not merged. A pull "
        "request and the commit it was merged as are one row.",
        [
            ITEM,
            PackageColumn("change", "string", "owner/name#number, or owner/name@SHA.", is_required=True),
            PackageColumn("kind", "string", "What it is.", _words("pull_request", "commit"), is_required=True),
            PackageColumn("number", "integer", "Of the pull request."),
            PackageColumn("sha", "string", "Of the commit."),
            *(texts if has_texts else ()),
            PackageColumn("author", "string", "Who wrote it."),
            PackageColumn("created_at", "datetime", "When the pull request was opened, or the commit written."),
            PackageColumn("merged_at", "datetime", "When the pull request was merged, or the commit made."),
            PackageColumn("merged", "boolean", "Whether it was merged.", is_required=True),
            PackageColumn(
                "closes", "boolean", "False: linked, but not merged, so it closed nothing.", is_required=True
            ),
            PackageColumn("additions", "integer", "Lines added."),
            PackageColumn("deletions", "integer", "Lines deleted."),
            PackageColumn("files", "integer", "Files changed."),
            PackageColumn("paths", "object", "A list of path, additions and deletions of each file."),
            PackageColumn("url", "string", "Its address."),
        ],
        ["item", "change"],
        [OF_ITEM],
    )


FRAME = [
    ITEM,
    PackageColumn("repository", "string", "owner/name."),
    PackageColumn("number", "integer", "Number of the issue."),
    PackageColumn("stratum", "string", "Its stratum; empty where the sample has none."),
    PackageColumn("drawn", "integer", "Its place in the draw, from 1; empty for an issue that was not drawn."),
    PackageColumn("snapshot", "string", "SHA-256 of its state when the sample was drawn."),
    PackageColumn("created_at", "datetime", "When the issue was opened."),
    PackageColumn("state", "string", "open or closed, at that time."),
]


def frame_of(number: int) -> PackageTable:
    """The frame of a sample, by repository and number, as it was drawn from."""
    means = f"All issues that sample {number} could have drawn, by host, owner and name of the repository, and number."
    return PackageTable(f"sample-{number}-frame", f"Frame of sample {number}", means, FRAME, (), (), "sample", ("csv",))


AGREEMENT = PackageTable(
    "agreement",
    "Agreement",
    "Every coefficient of every dimension, over all rounds and in each, before and after discussion.",
    [
        PackageColumn("dimension", "string", "Key of the dimension.", is_required=True),
        PackageColumn("round", "integer", "Number of the round; empty: several rounds together, as headline tells."),
        PackageColumn(
            "headline",
            "boolean",
            "Whether it is the study's number; a row without a round where it is false has all pilot and main rounds.",
            is_required=True,
        ),
        PackageColumn("when", "string", "Before or after discussion.", _words("before", "after"), is_required=True),
        PackageColumn("metric", "string", "The distance of Krippendorff's alpha."),
        PackageColumn("weights", "string", "Of weighted kappa and AC2, where the dimension has an order."),
        PackageColumn("units", "integer", "Parts of items with at least two ratings."),
        PackageColumn("n_raters", "integer", "Raters who gave these."),
        PackageColumn("coefficient", "string", "Its name.", is_required=True),
        PackageColumn("value", "number", "Empty where it is undefined."),
        PackageColumn("se", "number", "Analytic standard error, where one is published."),
        PackageColumn("ci_low", "number", "Lower limit of the 95% confidence interval."),
        PackageColumn("ci_high", "number", "Upper limit of the 95% confidence interval."),
        PackageColumn("ci_method", "string", "How the interval was computed.", _words(*CI_METHODS)),
        PackageColumn("ci_undefined", "string", "Why there is no interval, where there is a value."),
        PackageColumn(
            "p_threshold",
            "number",
            "Confidence of reaching the threshold: that of the interval of one side, by ci_method, that begins there.",
        ),
        PackageColumn("undefined", "string", "Why there is no value."),
    ],
    folder="results",
    formats=("csv",),
)
