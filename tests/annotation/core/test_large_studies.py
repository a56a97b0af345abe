"""Pages and lists of large studies: what they read follows the answers that they show, whatever the planner expects."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.analysis.queries.effort import MEASURES
from annotation.choosing.actions import samples as sample_actions
from annotation.choosing.queries.samples import flow, sample_lines
from annotation.core import database_planner, issue_texts
from annotation.core.errors import Conflict, WrongState
from annotation.core.locks import hold_round
from annotation.imports import api as import_api
from annotation.imports.actions import workbooks
from annotation.imports.actions.ratings import import_ratings
from annotation.labeling.actions.next_item import take_next
from annotation.labels.queries import rows as label_rows
from annotation.labels.queries import verdicts
from annotation.models import Assignment, Item, Resolution, Round, RoundRater, SampleIssue, Study
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.queries.queue import queue_of
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from ingest.models import ClosingChange
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db
N = 400


def asked_of(tables: str, path: str, name: str = "olga") -> tuple[Any, list[str]]:
    """The answer to a GET over REST, and its queries that read a table."""
    caller = Caller(name)
    with CaptureQueriesContext(connection) as asked:
        answer = caller.get(path)
    assert answer.status_code == 200
    return answer.json(), [each["sql"] for each in asked if f'"{tables}"' in each["sql"]]


def late_labels(n: int) -> Round:
    """A round of `n` items, in the last two of which two raters labeled."""
    study = make.study(raters=("bob", "carol"))
    make.issues(n)
    round_ = make.open_round(study, n)
    places = list(round_.round_items.order_by("position").values_list("item__issue__number", flat=True))
    for number in places[-2:]:
        for name in ("bob", "carol"):
            make.submit(round_, name, number, {"symptom": ["crash"]})
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    return Round.objects.get(pk=round_.pk)


@pytest.mark.parametrize("what", ["labels", "ratings"])
@pytest.mark.parametrize("few_share", [0.25, 0.0])
def test_a_page_reads_no_items_that_nobody_answered(
    what: str, few_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_labels(30)
    monkeypatch.setattr(verdicts, "FEW_SHARE", few_share)
    whole, _ = asked_of("annotation_rounditem", f"studies/study/{what}/")
    monkeypatch.setattr(verdicts, "CHUNK", 5)
    monkeypatch.setattr(label_rows, "CHUNK", 5)
    found, reads = asked_of("annotation_rounditem", f"studies/study/{what}/")
    assert found == whole and len(found["results"]) == (2 if what == "labels" else 4)
    assert len(reads) <= 3, reads


def test_a_page_of_changes_reads_no_issue_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make.study()
    make.issues(30)
    make.open_round(study, 30)
    last = Item.objects.filter(study=study).order_by("-pk").first()
    ClosingChange.objects.create(issue=last.issue, kind="commit", identifier="acme/rocket@abc")
    monkeypatch.setattr(issue_texts, "CHUNK_ITEMS", 5)
    found, reads = asked_of("annotation_item", "studies/study/changes/")
    assert [row["item"] for row in found["results"]] == [last.identifier]
    assert len(reads) <= 2, reads


def test_what_becomes_of_the_items_of_who_leaves_is_found_without_reading_them() -> None:
    three = ("bob", "carol", "dave")
    make.open_round(make.study(raters=three), 6, raters=three, raters_per_item=2)
    found, reads = asked_of("annotation_item", "studies/study/rounds/1/raters/R1/withdraw/")
    assert found["withdrawn"] == 4 and sum(found["given"].values()) == 4
    assert reads == []


def test_what_was_agreed_without_an_answer_is_a_label() -> None:
    make.study()
    sheet = "item,rater,dimension,value\na,one,symptom,crash\na,agreed,symptom,crash\nb,agreed,symptom,hang"
    import_ratings(user=make.user("olga"), study="study", file=sheet.encode(), name="a.csv", final="agreed")
    found, _ = asked_of("annotation_rounditem", "studies/study/labels/")
    assert [(each["item"], each["values"]) for each in found["results"]] == [("a", ["crash"]), ("b", ["hang"])]


def test_the_queue_of_an_open_round_is_read_once_and_follows_what_comes_in() -> None:
    study = make.study(raters=("bob", "carol"))
    studies.change_study(seat=make.owner_seat(study), changes={"resolve_when": "item"})
    round_ = make.open_round(study, 6)
    for name, value in (("bob", "crash"), ("carol", "hang")):
        make.submit(round_, name, 1, {"symptom": [value]})
    make.submit(round_, "bob", 2, {"symptom": ["crash"]})
    assert [line.short_name for line in queue_of(round_).lines] == ["rocket#1"]
    kept = cache.get(f"resolving:2:{round_.pk}:open")
    assert kept is not None and len(kept[1]) == 1
    make.submit(round_, "carol", 2, {"symptom": ["hang"]})
    assert queue_of(round_).n_open == 2
    item = Item.objects.get(issue__number=1)
    resolution_actions.resolve(
        seat=make.owner_seat(study), round_=round_, item=item, part=1, dimension="symptom", values=["hang"]
    )
    assert queue_of(round_).n_open == 1


def reading_the_whole(round_: Round) -> int:
    """Queries of the queue that read which items of a round are disputed."""
    with CaptureQueriesContext(connection) as asked:
        queue_of(round_)
    return sum("COUNT(DISTINCT" in each["sql"] for each in asked)


def test_the_queue_of_an_open_round_is_not_computed_at_every_view() -> None:
    study = make.study(raters=("bob", "carol"))
    round_ = make.open_round(study, 3)
    assert [reading_the_whole(round_) for _ in range(3)] == [1, 0, 0]


# Rounds that are closed, and leases that run out


def disputed(n: int) -> Round:
    """A round that is being resolved; its raters differ on the first of `n` items, on which a decision is taken."""
    study = make.study(raters=("bob", "carol"))
    head = "item bob carol\n1 crash hang\n"
    make.rate(make.open_round(study, n), head + "\n".join(f"{number} crash crash" for number in range(2, n + 1)))
    round_ = Round.objects.get(study=study)
    decide(round_)
    return Round.objects.get(pk=round_.pk)


def decide(round_: Round, act: Callable[..., Any] = resolution_actions.resolve, **more: Any) -> None:
    item = Item.objects.get(study=round_.study, issue__number=1)
    if act is resolution_actions.resolve:
        more = {"values": ["hang"]}
    seen = Resolution.objects.filter(round=round_).order_by("-pk").first()
    expected = seen.public_id if seen else None
    seat = make.owner_seat(round_.study)
    act(seat=seat, round_=round_, item=item, part=1, dimension="symptom", expected=expected, **more)


def test_a_round_is_not_held_while_all_its_items_are_looked_at() -> None:
    round_ = disputed(4)
    with CaptureQueriesContext(connection) as asked:
        rounds.close_round(seat=make.owner_seat(round_.study), number=1)
    said = [each["sql"] for each in asked]
    held = next(n for n, sql in enumerate(said) if '"annotation_round"' in sql and "FOR UPDATE" in sql)
    whole = [n for n, sql in enumerate(said) if "COUNT(DISTINCT" in sql]
    assert len(whole) == 1 and whole[0] < held


def test_what_is_reopened_before_a_round_is_held_keeps_it_from_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = disputed(4)
    hold = hold_round

    def late(seat: Any, number: int) -> Round:
        decide(round_, resolution_actions.reopen)
        return hold(seat, number)

    monkeypatch.setattr(rounds, "hold_round", late)
    with pytest.raises(Conflict, match="open disagreements"):
        rounds.close_round(seat=make.owner_seat(round_.study), number=1)
    assert Round.objects.get(pk=round_.pk).state == "resolving"


def test_leases_that_ran_out_are_given_back_by_one_statement() -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    round_ = make.open_round(study, 3, raters=("bob", "carol", "dave", "erin"), raters_per_item=3, mode="pool")
    for name in ("bob", "carol", "dave"):
        take_next(seat=make.seat(study, name), round_=round_)
    first = round_.round_items.order_by("position")[0]
    assert first.n_free == 0
    Assignment.objects.update(lease_until="2020-01-01T00:00Z")
    with CaptureQueriesContext(connection) as asked:
        taken = take_next(seat=make.seat(study, "erin"), round_=round_)
    assert taken is not None and taken.item_id == first.item_id
    assert sum("'withdrawn'" in each["sql"] and "UPDATE" in each["sql"] for each in asked) == 1
    first.refresh_from_db()
    assert first.n_free == 2
    assert sorted(Assignment.objects.values_list("state", flat=True)) == [
        "leased",
        "withdrawn",
        "withdrawn",
        "withdrawn",
    ]


def test_named_issues_take_the_same_statements_however_many() -> None:
    study = make.study(raters=("bob", "carol"))
    make.issues(43)
    counts = []
    for some in (range(1, 4), range(4, 44)):
        names = [f"acme/rocket#{number}" for number in some]
        with CaptureQueriesContext(connection) as asked:
            rounds.create_round(
                seat=make.owner_seat(study), asked=rounds.NewRound(issues=names, raters=["bob", "carol"])
            )
        counts.append(len(asked))
    assert counts[0] == counts[1] or counts[1] == counts[0] + 1, counts


def test_free_slots_are_summed_by_the_database() -> None:
    study = make.study(raters=("bob", "carol"))
    make.open_round(study, 5, mode="pool")
    with pytest.raises(WrongState, match="10 assignments of round 1"), CaptureQueriesContext(connection) as asked:
        rounds.resolve_round(seat=make.owner_seat(study), number=1)
    assert [each["sql"] for each in asked if "n_free" in each["sql"] and "SUM(" not in each["sql"]] == []


# Imports


def sheet_of(n: int, rater: str) -> bytes:
    head = "round,item,rater,dimension,value\n"
    return (head + "\n".join(f"1,item {each},{rater},symptom,crash" for each in range(n))).encode()


def test_an_import_writes_rows_by_copy_and_none_of_them_again() -> None:
    study = make.study()
    with CaptureQueriesContext(connection) as asked:
        report = import_ratings(user=make.user("olga"), study="study", file=sheet_of(30, "one"), name="a.csv")
    assert report.n_ratings == 30
    for table in (f"annotation_{name}" for name in ("item", "rounditem", "annotation", "assignment", "rating")):
        about = [each["sql"].split()[:2] for each in asked if each["sql"].split()[1:2] == [table]]
        assert about == [["COPY", table]], table
        assert not [each for each in asked if f'INTO "{table}"' in each["sql"] or f'UPDATE "{table}"' in each["sql"]]
    given = Assignment.objects.filter(round__study=study).select_related("current", "rater")
    assert {(each.state, each.slot, each.current_id == each.blind_id) for each in given} == {("submitted", 1, True)}
    assert sorted(each.position for each in given) == list(range(1, 31))
    assert {each.current.rater for each in given if each.current} == {each.rater for each in given}


def test_whatever_an_import_wrote_is_analyzed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_planner, "TOLD_FROM", 10)
    make.study()
    with CaptureQueriesContext(connection) as asked:
        import_ratings(user=make.user("olga"), study="study", file=sheet_of(10, "one"), name="a.csv")
    (told,) = [each["sql"] for each in asked if each["sql"].startswith("ANALYZE annotation")]
    wrote = {each["sql"].split()[1] for each in asked if each["sql"].startswith("COPY annotation")}
    assert wrote and all(table in told for table in wrote)


def test_answers_imported_into_a_round_that_stands_count_its_raters_up() -> None:
    study = make.study()
    import_ratings(user=make.user("olga"), study="study", file=sheet_of(3, "one"), name="a.csv")
    before = dict(RoundRater.objects.filter(round__study=study).values_list("pk", "revision"))
    import_ratings(user=make.user("olga"), study="study", file=sheet_of(5, "one"), name="b.csv")
    after = RoundRater.objects.get(round__study=study)
    assert after.revision > before[after.pk] and (after.n_assigned, after.n_finished) == (5, 5)


def sent(study: Study, sheet: bytes, **more: Any) -> Any:
    olga = Caller("olga")
    place = f"/api/v1/studies/{study.slug}/ratings/"
    return olga.client.post(place, sheet, content_type="text/csv", headers=olga.headers, **more)


@pytest.fixture
def by_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_api, "JOB_BYTES", 200)


def test_a_large_sheet_over_rest_is_imported_by_a_job(by_job: None) -> None:
    study = make.study()
    assert sent(study, sheet_of(2, "one")).status_code == 201
    answer = sent(study, sheet_of(30, "two").replace(b"crash", b"CRASH", 1))
    row = answer.json()
    assert answer.status_code == 202 and row == {**row, "state": "queued", "done": 0, "report": None}
    place = f"studies/study/ratings/imports/{row['id']}/"
    assert Caller("olga").get(place).json() == row and not Assignment.objects.filter(rater__name="two").exists()
    workbooks.import_workbook(int(row["id"]))
    done = Caller("olga").get(place).json()
    assert done["state"] == "done" and (done["report"]["n_ratings"], done["report"]["n_refused"]) == (30, 0)
    assert Assignment.objects.filter(round__study=study, rater__name="two", current__isnull=False).count() == 30
    workbooks.import_workbook(int(row["id"]))
    assert Caller("olga").get(place).json() == done


def test_a_large_sheet_over_rest_that_lacks_an_option_stores_nothing_and_says_why(by_job: None) -> None:
    study = make.study()
    sheet = b"item,who,symptom\n" + b"\n".join(b"item %d,one,crash" % n for n in range(30))
    row = sent(study, sheet).json()
    workbooks.import_workbook(int(row["id"]))
    failed = Caller("olga").get(f"studies/study/ratings/imports/{row['id']}/").json()
    assert failed["state"] == "failed" and failed["error"] and failed["report"] is None
    assert not Round.objects.filter(study=study).exists()
    browser = Client()
    browser.force_login(make.user("olga"))
    assert browser.get(f"/studies/study/import/{row['id']}/").status_code == 200
    twice = sent(study, sheet, QUERY_STRING="map=rater=who&dimensions=symptom").json()
    workbooks.import_workbook(int(twice["id"]))
    done = Caller("olga").get(f"studies/study/ratings/imports/{twice['id']}/").json()
    assert done["state"] == "done" and done["report"]["n_ratings"] == 30, done["error"]


# Statistics that the planner has not got yet


def large(slug: str, first: int) -> Study:
    """A study whose round, open, holds all N issues of a sample."""
    text = make.SYMPTOMS.replace("slug: symptoms", f"slug: of-{slug}")
    study = make.study(slug, text=text, raters=("bob", "carol"))
    make.issues(N, f"acme/{slug}", first=first)
    seat = make.owner_seat(study)
    sample = sample_actions.draw_sample(seat=seat, size=N, filter={"repository": f"acme/{slug}"})
    rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"]))
    rounds.open_round(seat=seat, number=1, unregistered=True)
    return study


MANY = """
SET LOCAL session_replication_role = replica;
INSERT INTO annotation_item (study_id, identifier, screening, screening_reason, attributes)
    SELECT study_id, n, screening, '', '{}' FROM annotation_item, generate_series(1, 8000) n LIMIT 8000;
INSERT INTO annotation_assignment (round_id, item_id, rater_id, state, position)
    SELECT a.round_id, i.id, a.rater_id, a.state, i.id
    FROM (SELECT * FROM annotation_assignment LIMIT 1) a, annotation_item i WHERE i.id <> a.item_id;
SET LOCAL session_replication_role = origin; SET LOCAL statement_timeout = '3s';
"""


def test_many_rows_that_change_at_once_are_not_compared_each_with_each() -> None:
    """Also where the connection planned its triggers for a single row, as one does that serves raters."""
    make.open_round(make.study(), 1)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '100s'")  # each with each would take minutes on an idle machine
        cursor.execute(MANY)
        for table in ("annotation_assignment", "annotation_item"):
            for n in (1, 8000):
                newest = f"SELECT id FROM {table} ORDER BY id DESC LIMIT {n}"
                cursor.execute(f"UPDATE {table} SET id = id WHERE id IN ({newest})")
                assert cursor.rowcount == n


@pytest.fixture
def unexpected() -> Study:
    """A study that came after the tables were analyzed: the planner expects a row of it, or none."""
    large("before", 1)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return large("late", 10_001)


def plans(sql: str) -> Iterator[dict[str, Any]]:
    """The nodes of how a query was run."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}")
        (found,) = cursor.fetchone()
    waiting = [each["Plan"] for each in (json.loads(found) if isinstance(found, str) else found)]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        yield node


def rows_handled(node: dict[str, Any]) -> float:
    """Rows that a node read, kept or not, over all its loops."""
    names = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter")
    return float(sum(node.get(name, 0) for name in names) * node["Actual Loops"])


PAGES = (
    "", "rounds/", "rounds/1/", "rounds/new/", "sample/", "items/", "items/?search=crash", "items/?round=1",
    "items/?sample={sample}", "changes/", "agreement/",
    "analysis/", "audit/", "plans/", "exports/", "members/", "settings/", "REST rounds/", "REST samples/",
    "REST labels/", "REST ratings/", "REST items/",
)  # fmt: skip
OF_ANSWERS = (
    "rounds/1/resolve/", "rounds/1/resolve/{item}/", "rounds/1/discuss/", "agreement/",
    "agreement/methods/", "analysis/counts/", "REST labels/", "REST ratings/",
    "REST disagreements/", "REST resolutions/", "REST evidence/",
    "REST analysis/numbers/?measure=comments&by=symptom",
)  # fmt: skip
BEHIND = (
    "", "&show=differ", "&a=crash&b=hang", "&raters=R1,R2", "&show=twice&rater=R1", "&show=decided&rater=R1",
    "&parts=single", "&pending=left_out", "&show=left_out", "&show=left_out&when=after",
    "&show=left_out&because=one_sided", "&show=left_out&because=skipped", "&show=left_out&because=unmapped",
    "&show=left_out&because=parts&parts=single&pending=left_out",
)  # fmt: skip
"""What the page of the units behind a number is asked for."""
LINKED = (
    "items/?label=symptom:crash", "items/?label=symptom:crash|hang&label=repository:acme/late",
    "items/?label=symptom:~open", "items/?label=symptom:~none&parts=single", "items/?label=symptom:crash&round=1",
    "items/?label=comments:<=10", "items/?label=lines:<=10", "items/?label=symptom:crash&after=Mg",
    "items/?label=symptom:crash&where=repository:acme/late&search=crash",
    "items/?label=symptom:~any&screening=unscreened", "analysis/shares/?mark=symptom&value=crash",
    "analysis/crosstab/?rows=symptom&columns=repository", "analysis/flow/?dimensions=symptom,repository",
    "analysis/profiles/?dimension=symptom&by=repository", "analysis/saturation/?dimension=symptom",
    "analysis/combinations/?dimensions=symptom,repository",
    *(f"analysis/numbers/?measure={each}&by=symptom" for each in MEASURES),
)  # fmt: skip
"""Analyses, and the items behind their numbers."""
ANSWERED = """
SET LOCAL session_replication_role = replica;
INSERT INTO annotation_annotation (assignment_id, rater_id, revision, skip_reason, n_parts, memo, part_memos,
    is_flagged, n_proposals, answers_digest, idempotency_key, request_digest, created_at)
    SELECT id, rater_id, 1, '', 1, '', '{}', item_id %% 7 = 0, 0,
        CASE WHEN item_id %% 5 = 0 THEN rater_id ELSE 0 END::text, '', '', now() - interval '1 day'
    FROM annotation_assignment WHERE round_id = %(round)s;
UPDATE annotation_assignment a SET blind_id = x.id, current_id = x.id, state = 'submitted'
    FROM annotation_annotation x WHERE x.assignment_id = a.id AND a.round_id = %(round)s;
INSERT INTO annotation_rating (annotation_id, round_id, item_id, rater_id, part, dimension_id, category_id)
    SELECT a.current_id, a.round_id, a.item_id, a.rater_id, 1, c.dimension_id, c.id
    FROM annotation_assignment a JOIN annotation_round r ON r.id = a.round_id
    JOIN taxonomy_dimension d ON d.version_id = r.taxonomy_version_id
    JOIN taxonomy_category c ON c.dimension_id = d.id AND c.key =
        CASE WHEN a.item_id %% 5 = 0 AND a.rater_id %% 2 = 0 THEN 'hang' ELSE 'crash' END
    WHERE a.round_id = %(round)s;
UPDATE annotation_roundrater SET n_finished = n_assigned, revision = revision + 1 WHERE round_id = %(round)s;
UPDATE annotation_round SET state = 'resolving', resolving_at = now(), ruled_at = now() WHERE id = %(round)s;
SET LOCAL session_replication_role = origin;
"""


def assert_few_rows(paths: Iterable[str]) -> None:
    """No page of the study “late” handles many more rows than it has items and members, nor a list over REST."""
    browser, olga = Client(), Caller("olga")
    browser.force_login(make.user("olga"))
    item = Item.objects.filter(study__slug="late").order_by("-pk").first()
    assert item is not None
    wrong: list[Any] = []
    drawn = item.study.samples.get()
    for path in (each.format(item=item.pk, sample=drawn.pk) for each in paths):
        with CaptureQueriesContext(connection) as asked:
            if path.startswith("REST "):
                answer = olga.get(f"studies/late/{path[5:]}")
            else:
                answer = browser.get(f"/studies/late/{path}")
        wrong += [(path, answer.status_code, "")] if answer.status_code not in (200, 404) else []
        for each in asked:
            sql = each["sql"].strip().removeprefix("COPY (").partition(") TO STDOUT")[0].strip()
            if sql.startswith(("SELECT", "WITH")):
                most = max(plans(sql), key=rows_handled)
                wrong += [(path, most, sql)] if rows_handled(most) > 30 * N else []
    assert not wrong, "\n".join(f"{path}: {node} {sql}" for path, node, sql in wrong)


@pytest.mark.slow
def test_no_page_compares_each_item_with_each_where_the_planner_expects_few(unexpected: Study) -> None:
    assert_few_rows(PAGES)


@pytest.mark.slow
def test_no_page_of_answers_compares_each_with_each_where_the_planner_expects_few() -> None:
    for slug, first in (("before", 1), ("late", 10_001)):
        round_ = large(slug, first).rounds.get()
        with connection.cursor() as cursor:
            cursor.execute(ANSWERED, {"round": round_.pk})
        dimension = round_.taxonomy_version.dimensions.get()
        places = [item for item in round_.round_items.values_list("item", flat=True) if item % 10 < 5]
        Resolution.objects.bulk_create(
            Resolution(round=round_, item_id=item, dimension=dimension, revision=1, method="adjudicator")
            for item in places
        )
        if slug == "before":
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
    assert_few_rows(OF_ANSWERS)
    assert_few_rows(f"agreement/items/?dimension=symptom{words}" for words in BEHIND)
    assert_few_rows(LINKED)


@pytest.mark.slow  # two seconds, and once 25 in a whole run
def test_disputed_items_of_a_round_are_found_without_the_answers_of_other_studies() -> None:
    """Whatever the planner knows: a page of one study must not take longer the more studies there are."""
    makers = {"before": 1, "late": 10_001}
    found = {slug: large(slug, first).rounds.get() for slug, first in makers.items()}
    with connection.cursor() as cursor:
        for round_ in found.values():
            cursor.execute(ANSWERED, {"round": round_.pk})
        few = Round.objects.get(pk=found["late"].pk)
        kept = few.assignments.order_by("pk").values_list("pk", flat=True)[:20]
        few.assignments.exclude(pk__in=list(kept)).update(state="withdrawn")
        for statistics in ("SELECT", "ANALYZE"):
            cursor.execute(statistics)
            with CaptureQueriesContext(connection) as asked:
                list(verdicts.disputed_items(few))
            (sql,) = [each["sql"] for each in asked]
            handled = [
                rows_handled(node) for node in plans(sql) if node.get("Relation Name") == "annotation_annotation"
            ]
            assert handled and max(handled) <= 3 * 20  # of 1,600


def test_what_is_left_of_a_sample_is_looked_up_where_the_planner_expects_few(unexpected: Study) -> None:
    seat = make.owner_seat(unexpected)
    sample = sample_actions.draw_sample(seat=seat, size=N, filter={"repository": "acme/late"})
    with CaptureQueriesContext(connection) as asked, pytest.raises(Exception, match="not created"):
        rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"]))
    counts = [each["sql"] for each in asked if "annotation_sampleissue" in each["sql"]]
    assert counts and all(rows_handled(node) <= 10 * N for sql in counts for node in plans(sql))


def test_counts_of_samples_are_those_of_each_issue() -> None:
    study = make.study(raters=("bob", "carol"))
    make.issues(30)
    seat = make.owner_seat(study)
    one = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    two = sample_actions.draw_sample(seat=seat, size=20, seed=2, filter={"repository": "acme/rocket"})
    rounds.create_round(seat=seat, asked=rounds.NewRound(sample=one.pk, raters=["bob", "carol"], n_items=5))
    rounds.create_round(
        seat=seat, asked=rounds.NewRound(sample=two.pk, raters=["bob", "carol"], n_items=4, kind="screening")
    )
    left = [each.issue.identifier for each in one.drawn.order_by("position")[8:11]]
    sample_actions.screen_items(seat=seat, screening="out", reason="spam", items=left[:2])
    sample_actions.screen_items(seat=seat, screening="in", items=left[2:])
    by_hand = {}
    for sample in (one, two):
        n_unused = n_out = n_to_screen = 0
        for drawn in SampleIssue.objects.filter(sample=sample):
            item = Item.objects.filter(study=study, issue=drawn.issue).first()
            kinds = set(item.round_items.values_list("round__kind", flat=True)) if item else set()
            is_out = item is not None and item.screening == "out"
            n_out += is_out
            n_unused += not is_out and not kinds - {"screening"}
            n_to_screen += not is_out and not kinds
        by_hand[sample.pk] = (n_unused, n_out, n_to_screen)
    found = {each.sample.pk: (each.n_unused, each.n_out, each.n_to_screen) for each in sample_lines(study)}
    assert found == by_hand and by_hand[one.pk][1] == 2
    assert [(each.kind, each.n) for each in flow(one)][-4:] == [
        ("drawn", 20), ("out", 2), ("unscreened", 17), ("kept", 1),
    ]  # fmt: skip
