"""README with the data card, citation, and license note of a package."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from annotation.exports.package_options import LICENCES, TEXTS
from annotation.package.tables import PackageTable
from shared.wording import for_markdown, plural, series

DRAW = """
It also draws each sample again. The rows of `sample/sample-N-frame.csv` are numbered from 0 in their order, and
`sample/sample-N.json` has size, seed and strata. With `rng = random.Random(f"sample {seed}")` of Python, the draw is
`rng.sample(range(n_frame), size)`; from strata, `rng.sample` of the rows of each, in order of their names, and
`rng.shuffle` of them all. The column `drawn` is the place in the draw.
"""
CARDS = ("labels", "labels_wide", "ratings", "resolutions", "items", "issues")
"""The tables that the card of the data set offers, the first one by default."""


@dataclass(frozen=True)
class Cover:
    """What the papers say of a package; `counts` has of each table its rows, `hidden` the rounds that are not in it.

    `n_items` and `n_raters` (third raters, too) are those with a label: the tables also list items and raters without.
    `n_ratings` are those of items that are not for training, `n_labels` the agreed labels that have a value.
    """

    slug: str
    title: str
    day: date
    software: str
    taxonomy: str
    tables: Mapping[str, PackageTable]
    counts: Mapping[str, int]
    methods: str
    n_items: int
    n_raters: int
    n_ratings: int
    n_labels: int
    has_agreement: bool
    licence: str = "CC-BY-4.0"
    authors: Sequence[str] = ()
    texts: str = "referenced"
    is_pseudonymized: bool = True
    hidden: Sequence[int] = ()
    files: Sequence[tuple[str, str]] = field(default=())

    @property
    def version(self) -> str:
        """The day of the state, which is the version of the data."""
        return self.day.isoformat()

    @property
    def full_title(self) -> str:
        return f"{self.title}: replication package"

    @property
    def abstract(self) -> str:
        labels = plural(self.n_labels, "agreed label")
        ends = f"{labels}, and the agreement of the raters" if self.has_agreement else f"and {labels}"
        return (
            f"{plural(self.n_items, 'item')} labeled by {plural(self.n_raters, 'rater')} against the taxonomy "
            f"“{self.taxonomy}”: {plural(self.n_ratings, 'rating')} and "
            f"{plural(self.counts['resolutions'], 'resolution')}, later revisions included, "
            f"{ends}."
        )


def keywords(cover: Cover) -> list[str]:
    """The keywords that hold for a package: not every one has agreement, or issues that are named in it."""
    found = ["qualitative coding", "replication package"]
    found += ["inter-rater agreement"] if cover.has_agreement else []
    return found + (["GitHub issues"] if cover.counts.get("issues") else [])


def readme(cover: Cover) -> str:
    """README.md, which is also the card that a hub of data sets reads."""
    return f"{_card(cover)}\n{_read_me(cover)}"


def _card(cover: Cover) -> str:
    """What a hub reads. Concord does not know the language of texts and who raters are, so authors add that."""
    offered = [name for name in CARDS if name in cover.tables and cover.counts[name]]
    lines = ["---", f"pretty_name: {_quoted(cover.full_title)}"]
    if cover.licence != "none":
        lines.append(f"license: {cover.licence.lower()}")
    lines += ["task_categories:", "- text-classification"]
    lines += [f"size_categories:\n- {_size(cover.counts['labels'])}", "tags:"]
    lines += [f"- {each}" for each in keywords(cover)]
    lines.append("configs:")
    for place, name in enumerate(offered):
        lines += [f"- config_name: {name}", f"  data_files: {cover.tables[name].path}.parquet"]
        lines += ["  default: true"] if place == 0 else []
    return "\n".join([*lines, "---", ""])


def _size(n: int) -> str:
    for most, words in ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")):
        if n < most:
            return words
    return "1M<n<10M"


def _read_me(cover: Cover) -> str:
    tables = "\n".join(
        f"| `{table.path}` | {cover.counts[name]} | {table.means} |" for name, table in cover.tables.items()
    )
    files = "\n".join(f"| `{path}` | {means} |" for path, means in cover.files)
    hidden = ""
    if cover.hidden:
        numbers = series([str(number) for number in cover.hidden])
        one = len(cover.hidden) == 1
        hidden = (
            f"\n**Excluded.** {'Round' if one else 'Rounds'} {numbers} {'is' if one else 'are'} not closed "
            f"for the person who created this package, so {'it is' if one else 'they are'} not included.\n"
        )
    people = (
        "People appear by pseudonym: a keyed hash of each user name, the same one everywhere in this package. "
        "It can't be reversed without the key, which is not in the package. Raters appear by code. Titles, stated "
        "reasons and texts that people wrote can name people in words that are not replaced."
        if cover.is_pseudonymized
        else "Raters appear by code. The people of issues keep their names, as the owner decided."
    )
    draw = DRAW if any(path.endswith("-frame.csv") for path, _ in cover.files) else ""
    return f"""# {for_markdown(cover.full_title)}

{for_markdown(cover.abstract)}

State of {cover.version}, made with {cover.software}. {people} Of the texts: {TEXTS[cover.texts]}.
{hidden}
## Contents

| table | rows | what |
| --- | ---: | --- |
{tables}

Every table is there as CSV (UTF-8, several values of a cell joined by `;`) and as Parquet (lists stay lists).
`datapackage.json` is the data dictionary: each column with its type, meaning and categories, keys and references, as a
[Frictionless Data Package](https://datapackage.org).

In CSV a text that a spreadsheet may evaluate begins with an apostrophe: one that begins with
`=`, `+`, `-` or `@` (also in full width), also after blanks or apostrophes of its own. Remove one apostrophe to get the
text; `text_of` in `recompute.py` does it. Numbers stay numbers.

| file | what |
| --- | --- |
{files}
| `recompute.py` | recomputes what `results/` reports from the CSV, and draws the samples again |
| `agreement/` | the formulas of the coefficients, in Python and NumPy alone, with the source of each |
| `kinds/` | how labels of each kind of dimension are read, in Python alone |
| `CHECKSUMS.txt` | SHA-256 of every file: `sha256sum -c CHECKSUMS.txt` |
| `CITATION.cff`, `LICENSE.md` | how to cite it, and its license |

## How to read it

```python
import pandas

labels, ratings, answers, round_items = (
    pandas.read_parquet(f"data/{{name}}.parquet") for name in ("labels", "ratings", "answers", "round_items")
)
held = answers.loc[answers["role"] == "rater", ["round", "item", "rater", "revision", "part", "agreed_part"]]
counting = round_items.loc[~round_items["training"], ["round", "item"]]
before_discussion = ratings[ratings["blind"]].merge(held).merge(counting)
before_discussion["unit"] = before_discussion["agreed_part"].fillna(before_discussion["part"])
```

Agreement before discussion compares the raters of each round, item and unit in `before_discussion`. Third raters, model
raters and training items are left out there, because they do not count in agreement.

`datasets.load_dataset("path/to/this/folder")` gives the agreed labels; a second argument names another table.

## How to recompute it

```
python -m venv fresh
fresh/bin/pip install numpy pandas
fresh/bin/python recompute.py
```

It needs Python 3.11 or later. From the tables it works out again which answers count, the agreed labels (from ratings
and decisions), all coefficients before and after discussion, by round and over all rounds, with their standard errors
and confidence intervals, agreement by category and by pair of raters, confusion, how raters did on known labels, and
the tables of the analyses, and compares each number to 1e-9; p-values that rest on random tables are drawn again and
compared within the error of drawing. It ends with exit status 0 where all agree, else it names file, key, the number
reported and the one recomputed.

Coefficients come from `agreement/`, which is the code that computed them for `results/`. It is tested against published
tables and independent libraries. `kinds/` is the code that reads labels of each kind of dimension. All else is written
in the script once more.
{draw}
Not recomputed are: warnings and other words; why units are left out; saved analyses of a round that is not in the
package, which the script names.

## How the labels came about

{cover.methods}
"""


def citation(cover: Cover) -> str:
    """CITATION.cff, by the rules of version 1.2.0."""
    lines = [
        "cff-version: 1.2.0",
        "message: If you use these data, please cite them as below.",
        "type: dataset",
        f"title: {_quoted(cover.full_title)}",
        f"abstract: {_quoted(cover.abstract)}",
        f'version: "{cover.version}"',
    ]
    if cover.licence != "none":
        lines.append(f"license: {cover.licence}")
    lines += ["keywords:", *(f"  - {each}" for each in keywords(cover)), "authors:"]
    for author in cover.authors or [f"The authors of {cover.title}"]:
        family, comma, given = (part.strip() for part in author.partition(","))
        if comma and family and given:
            lines += [f"  - family-names: {_quoted(family)}", f"    given-names: {_quoted(given)}"]
        else:
            lines.append(f"  - name: {_quoted(author)}")
    return "\n".join(lines) + "\n"


def license_note(cover: Cover) -> str:
    """LICENSE.md: what the licence is for, and what it can't be for."""
    title, address = LICENCES[cover.licence]
    if cover.licence == "none":
        first = (
            "No license is given for these data. Ask their authors before you share them or build on them. "
            "The law of your country determines what is allowed without a license."
        )
    else:
        first = (
            "Labels, ratings, resolutions, the taxonomy, statistics and figures in this package are licensed "
            f"under {cover.licence} ([{title}]({address}))."
        )
    texts = {
        "included": (
            "Titles, descriptions and comments of issues (data/issues) belong to the people who wrote them. "
            "They are included for research, under the terms of their host. The license above does not cover "
            "them. Anyone who shares them must check these terms and remove what an author withdraws. "
            "Quotations in memos and rationales belong to their authors as well."
        ),
        "referenced": (
            "The texts of the issues belong to the people who wrote them. They are not in this package. "
            "data/issues has their URLs and the SHA-256 of the snapshots pinned to them."
        ),
        "left_out": "The texts of the issues belong to the people who wrote them. They are not in this package.",
    }[cover.texts]
    return f"""# License

{first}

{texts}

`recompute.py`, `agreement/` and `kinds/` may be used, changed and passed on by anyone (MIT).
"""


def _quoted(text: str) -> str:
    """A text as a scalar of YAML, on one line."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)
