"""Strata of a study's items: repositories, and the strata of its samples."""

from django.core.cache import cache
from django.db import connection

from annotation.models import Item, Membership, Sample, Study

KEPT_SECONDS = 600


def repositories(study: Study) -> list[str]:
    """The repositories of a study's items as their identifiers write them, in order; one query over all items."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT split_part(identifier, '#', 1) FROM annotation_item"
            " WHERE study_id = %s AND identifier ~ '^[^#]+/[^#/]+#[0-9]+$'",
            [study.pk],
        )
        return sorted((name for (name,) in cursor.fetchall()), key=str.lower)


def repositories_lately(study: Study) -> list[str]:
    """The same as it was some time in the last ten minutes: for choices to offer, which needn't read all items anew."""
    key = f"repositories:1:{study.pk}"
    if (found := cache.get(key)) is not None:
        return list(found)
    names = repositories(study)
    if names:
        cache.set(key, names, KEPT_SECONDS)
    return names


def has_repository(study: Study, name: str) -> bool:
    """Whether an item of the study is from there; one query, which stops at the first."""
    items = Item.objects.filter(study=study, identifier__startswith=f"{name}#")
    return items.filter(identifier__regex=r"#[0-9]+$").exists()


def strata(study: Study) -> list[str]:
    """The strata from which the samples of a study drew, in order; one query."""
    found = {
        str(each["stratum"])
        for kept in Sample.objects.filter(study=study).exclude(stratify_by="").values_list("strata", flat=True)
        for each in kept
        if each.get("stratum") and each.get("n_drawn")
    }
    return sorted(found)


def raters(study: Study) -> dict[str, Membership]:
    """The people who rate in a study, by code, R2 before R10; one query."""
    members = Membership.objects.filter(study=study, code__isnull=False, kind=Membership.Kind.PERSON)
    return {each.code or "": each for each in sorted(members, key=lambda each: (len(each.code or ""), each.code or ""))}
