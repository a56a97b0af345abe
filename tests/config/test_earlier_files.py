"""Files of 0.2.0 with studies in mid-round: a backup restores, whole-study files arrive, and nothing differs."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from annotation.models import Round, Study
from annotation.transfer.actions.study_import import bring_study
from config.backups.restore import restore_backup
from tests import builders as make
from tests.config.other_databases import empty_database, working_on
from tests.config.releases.said import said, said_of
from tests.config.test_upgrade import FOLDER, differences

EARLIER = "0.2.0-536a578"


def recorded() -> dict[str, Any]:
    """The files and coefficients that the code of that commit wrote about these studies."""
    found: dict[str, Any] = json.loads(lzma.decompress((FOLDER / f"{EARLIER}.json.xz").read_bytes()))
    return found


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(300)
def test_an_earlier_backup_restores_with_every_answer_label_and_coefficient(tmp_path: Path) -> None:
    with empty_database() as name, working_on(name, tmp_path / "data"):
        done = restore_backup(FOLDER / f"{EARLIER}.backup")
        call_command("migrate", check_unapplied=True, verbosity=0)
        assert done.n_files == 6 and Round.objects.filter(state=Round.State.OPEN).count() >= 3
        assert differences(recorded(), said()) == []


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["everything", "study"])
def test_an_earlier_whole_study_file_arrives_with_every_answer_label_and_coefficient(slug: str) -> None:
    with (FOLDER / f"{EARLIER}-{slug}.zip").open("rb") as file:
        bring_study(user=make.user("hal"), file=file)
    study = Study.objects.get(slug=slug)
    assert study.rounds.filter(state=Round.State.OPEN).exists()
    assert differences(recorded()[slug], said_of(slug)) == []
    client = Client()
    client.force_login(User.objects.get(username="hal"))
    shown = client.get(f"/studies/{slug}/agreement/").content.decode()
    assert "Changes in reported statistics since 25 November 2026" in shown and "with one rating" in shown


@pytest.mark.django_db
def test_a_study_of_this_version_reports_nothing_differently() -> None:
    round_ = make.open_round(make.study(), 3)
    for number in (1, 2):
        make.submit(round_, "bob", number, {"symptom": ["crash"]})
    for number in (1, 2, 3):
        make.submit(round_, "carol", number, {"symptom": [("crash", "hang")[number % 2]]})
    client = Client()
    client.force_login(User.objects.get(username="ada"))
    shown = client.get("/studies/study/agreement/").content.decode()
    assert "Percent agreement" in shown and "Changes in reported statistics" not in shown
