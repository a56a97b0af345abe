"""Part matches: the agreed part for each part of an answer."""

from collections import defaultdict
from collections.abc import Collection

from annotation.models import Annotation, PartMatch


def matches_of(annotations: Collection[int]) -> dict[int, dict[int, int]]:
    """Annotation id → part → agreed part, for those that were matched; no query where none is asked for, else one."""
    found: dict[int, dict[int, int]] = defaultdict(dict)
    if annotations:
        rows = PartMatch.objects.filter(annotation__in=annotations)
        for annotation, part, agreed in rows.values_list("annotation_id", "part", "agreed_part"):
            found[annotation][part] = agreed
    return dict(found)


def same_parts(one: Annotation, other: Annotation) -> bool:
    """Whether two revisions of an answer say the same, part for part."""
    return one.n_parts == other.n_parts and one.answers_digest == other.answers_digest
