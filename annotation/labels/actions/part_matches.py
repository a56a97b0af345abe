"""Part matches that follow an answer into its next revision."""

from django.db import connection

from annotation.labels.queries.part_matches import same_parts
from annotation.models import Annotation


def carry_match(earlier: Annotation | None, made: Annotation, *, parts_stay: bool = False) -> None:
    """Keeps a match for a new revision whose parts say the same, or with `parts_stay` are the same bugs all the same.

    Another revision is matched by number again. Its statements are the same where nothing was matched, so that a
    submit does not tell.
    """
    if earlier is None or not (same_parts(earlier, made) or (parts_stay and earlier.n_parts == made.n_parts)):
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_partmatch (annotation_id, part, agreed_part)"
            " SELECT %s, part, agreed_part FROM annotation_partmatch WHERE annotation_id = %s ORDER BY part",
            [made.pk, earlier.pk],
        )
