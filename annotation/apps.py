"""Configuration of the Django app `annotation`."""

from collections.abc import Mapping
from typing import ClassVar

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    file_kinds: ClassVar[Mapping[str, str]] = {
        "package": "annotation.package.queries.package.FILE_KIND",
        "study": "annotation.transfer.queries.study_export.FILE_KIND",
    }
    """Kinds of exported files that are not rows alone: loaded with the others when one is asked for."""

    def ready(self) -> None:
        from accounts.access import LinkKeeper, links_of_owners
        from accounts.passwords import not_as_password
        from accounts.permissions import public_accounts
        from annotation.choosing.actions.duplicates import forget_marks
        from annotation.choosing.actions.screening_rounds import note_screening_version
        from annotation.core.access import (
            issues_without_a_reader,
            snapshots_of_own_studies,
            taxonomies_of_own_studies,
        )
        from annotation.core.demo_people import PEOPLE, is_demo_person
        from annotation.labels.queries.screening import screening_taxonomies
        from annotation.members.actions.password_links import may_still_make, record_use
        from annotation.studies.queries.studies import words_of_studies
        from ingest.models import also_visible, forgotten_in_public, read_by_strangers
        from taxonomy.models import Circle, only_for_some

        not_as_password(words_of_studies)
        public_accounts(is_demo_person, PEOPLE)
        links_of_owners(LinkKeeper(may_still_make, record_use))
        also_visible(snapshots_of_own_studies)
        read_by_strangers(issues_without_a_reader)
        forgotten_in_public(forget_marks)
        only_for_some(Circle("screening", screening_taxonomies, taxonomies_of_own_studies, note_screening_version))
