"""A study goes whole, by its owner, after an export; for that alone the database lets rows go."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from annotation.models import Annotation, AuditEvent, Deletion, Rating, Study
from tests import builders as make

pytestmark = pytest.mark.django_db


def _going(study: Study) -> None:
    """Writes into the register that a study goes, and names it in this transaction."""
    Deletion.objects.create(
        study=study, slug=study.slug, sha256="a" * 64, exported_at=timezone.now(), deleted_by=study.created_by
    )
    _named(study)


def _named(study: Study) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('concord.study_that_goes', %s, true)", [str(study.pk)])


def _refuses(statement: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except IntegrityError:
        return True
    return False


def test_rows_go_with_their_study_alone_and_nothing_can_be_changed_even_then() -> None:
    study = make.study("goes")
    other = make.study("stays", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    for each in (study, other):
        make.rate(make.open_round(each, 1), "item bob carol\n1 crash hang")
    of_study = f"DELETE FROM annotation_auditevent WHERE study_id = {study.pk}"
    of_other = f"DELETE FROM annotation_auditevent WHERE study_id = {other.pk}"
    assert _refuses(of_study)
    _named(study)
    assert _refuses(of_study), "a study that is not in the register"
    _going(study)
    assert _refuses(of_other)
    for table, path in (("rating", "round"), ("annotation", "assignment__round")):
        model = {"rating": Rating, "annotation": Annotation}[table]
        pks = ",".join(str(pk) for pk in model.objects.filter(**{f"{path}__study": other}).values_list("pk", flat=True))
        assert pks and _refuses(f"DELETE FROM annotation_{table} WHERE id IN ({pks})")
    assert _refuses(f"UPDATE annotation_auditevent SET verb = 'x' WHERE study_id = {study.pk}")
    assert not _refuses(of_study) and not AuditEvent.objects.filter(study=study).exists()
    assert _refuses("DELETE FROM annotation_deletion")
