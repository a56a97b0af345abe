"""A kind of question that exists only here, a slider, from its taxonomy to the script that recomputes its numbers."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from annotation.models import Rating, ResolutionValue
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.annotation.packages import package, quickly, recompute, unpacked
from tests.browser.visitors import sign_in
from tests.made_up_kinds import slider_registered
from tests.scripts import Script

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

SHARE = """
slug: share
title: Share
dimensions:
  - {key: share, title: Share, kind: slider, help: How much of it is a fault?}
  - {key: clear, title: Clear, kind: boolean}
"""
GIVEN = {2: (40, 45), 3: (90, 90), 4: (10, 5), 5: (70, 75)}


def test_a_kind_that_no_product_code_names_goes_all_the_way(
    page: "Page", live_server: LiveServer, tmp_path: Path
) -> None:
    forget_trees()
    with slider_registered():
        round_ = make.open_round(make.study(text=SHARE), 5)
        for number, (bob, carol) in GIVEN.items():
            make.submit(round_, "bob", number, {"share": bob, "clear": True})
            make.submit(round_, "carol", number, {"share": carol, "clear": True})
        make.submit(round_, "carol", 1, {"share": 60, "clear": False})

        sign_in(page, live_server, "bob")
        page.goto(f"{live_server.url}/studies/study/rounds/1/label/")
        page.wait_for_selector("#announcer:not(:empty)", state="attached")
        slider = page.locator("input[type=range]")
        assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("0", "100")
        slider.focus()
        page.keyboard.press("End")
        page.locator("[data-dimension=clear] input[value=no]").check(force=True)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".label-over h1")
        rating = Rating.objects.get(
            rater__user__username="bob", item__identifier="acme/rocket#1", dimension__key="share"
        )
        assert (rating.number, rating.text, rating.category) == (100, None, None)

        place = f"/studies/study/rounds/1/resolve/{rating.item_id}/"
        sent = {"part": "1", "dimension": "share", "expected": "", "rationale": "Halfway.", "choice": "other"}
        ada = Client()
        ada.force_login(make.user("ada"))
        refused = ada.post(place, sent | {"other": "101"})
        assert refused.status_code == 422 and "Answer with a whole number from 0 to 100." in refused.content.decode()
        assert ada.post(place, sent | {"other": "80"}).status_code == 302
        assert ResolutionValue.objects.get().number == 80

        script = Script("olga")
        report = script.send("GET", "studies/study/agreement/").json()
        [entry] = [each for each in report if (each["dimension"], each["when"]) == ("share", "before")]
        assert (entry["metric"], entry["weights"], entry["units"]) == ("interval", "quadratic", 5)
        file = script.send("GET", "studies/study/labels/?format=parquet&shape=wide")
        table = pq.read_table(io.BytesIO(b"".join(file.streaming_content)))
        assert table.schema.field("share").type == pa.float64() and table["share"].to_pylist()[0] == 80

        with quickly():
            folder = unpacked(package(make.owner_seat(round_.study)), tmp_path)
        assert (folder / "kinds" / "slider.py").is_file()
        status, words = recompute(folder)
        assert status == 0 and "values agree" in words, words
        columns = json.loads((folder / "datapackage.json").read_text())["resources"]
        assert any(each.get("name") == "share" for one in columns for each in one.get("schema", {}).get("fields", []))
