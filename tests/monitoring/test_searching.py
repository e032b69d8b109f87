"""The search in what waits: how text is cut into words, what is found, and that the index follows the rows."""

from __future__ import annotations

import pytest
from django.db import connection

from monitoring.models import Change
from monitoring.services import monitors, searching
from tests.factories import NOW, make_change, make_monitor, make_user

pytestmark = pytest.mark.django_db


def found(asked: str) -> set[str]:
    """The pages whose waiting change holds what is asked for."""
    return set(Change.objects.filter(searching.matching(asked)).values_list("monitor__name", flat=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fees: 30 days.", "fees 30 days"),
        ("Gebühr STRASSE straße", "gebuhr strasse strasse"),
        ("利用状況", "利用 用状 状況 況"),
        ("12か月間", "12 か月 月間 間"),
        ("ﾃﾞｰﾀ", "デー ータ タ"),
        ("がか", "がか か"),
        ("https://a.example/x_y?z=1", "https a example x y z 1"),
        ("\x00\ud800", ""),
    ],
)
def test_text_becomes_words(text: str, words: str) -> None:
    assert searching.words_of(text) == words


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("affiliates", {"terms", "terms again"}),
        ("AFFIL", {"terms", "terms again"}),
        ("affiliates nowhere", set()),
        ("selected affiliates", {"terms", "terms again"}),
        ('"selected affiliates"', {"terms"}),
        ("提供", {"policy"}),
        ("税", {"policy"}),
        ("三者", {"policy"}),
        ("第者", set()),
        ("することが", {"policy"}),
        ("gebuhr", {"fees"}),
        ("Gebühr", {"fees"}),
        ("fees.example/prices", {"fees"}),
        ("policy", {"policy"}),
        ("!?", set()),
        ("' OR 1=1 --", set()),
        ('" AND "', {"terms"}),
        ("*", set()),
    ],
)
def test_what_is_asked_for_is_found(asked: str, expected: set[str]) -> None:
    make_change(make_monitor(name="terms"), search_text="with selected affiliates and others")
    make_change(make_monitor(name="terms again"), search_text="affiliates that were selected")
    make_change(make_monitor(name="policy"), search_text="第三者に提供することがあります。消費税")
    make_change(make_monitor(name="fees", url="https://fees.example/prices"), search_text="Die Gebühr steigt.")

    assert found(asked) == expected


@pytest.mark.parametrize("state", ["approved", "dismissed"])
def test_what_is_decided_leaves_the_index_and_comes_back_with_an_undo(state: str) -> None:
    change = make_change(make_monitor(name="page"), search_text="arbitration")
    Change.objects.filter(pk=change.pk).update(state=state)
    gone = found("arbitration")
    Change.objects.filter(pk=change.pk).update(state="snoozed")

    assert gone == set()
    assert found("arbitration") == {"page"}


def test_a_newer_text_replaces_the_older_one() -> None:
    change = make_change(make_monitor(name="page"), search_text="arbitration")
    Change.objects.filter(pk=change.pk).update(search_text="page\nombudsman")

    assert (found("arbitration"), found("ombudsman")) == (set(), {"page"})


def test_a_deleted_change_leaves_nothing_behind() -> None:
    change = make_change(search_text="arbitration")
    change.delete()
    other = make_change(make_monitor(name="other"), search_text="something else")

    assert found("arbitration") == set()
    assert found("something") == {other.monitor.name}


def test_a_renamed_page_is_found_by_its_new_name_and_still_by_its_text() -> None:
    monitor = make_monitor(name="Oldish")
    make_change(monitor, search_text="arbitration")

    monitors.change_settings(monitor, {"name": "Newish"}, actor=make_user("ada", role="admin"))

    assert (found("oldish"), found("newish"), found("arbitration")) == (set(), {"Newish"}, {"Newish"})


def test_a_renamed_site_is_found_by_its_new_name() -> None:
    monitor = make_monitor(name="page")
    make_change(monitor)

    monitors.change_site(monitor.site, {"name": "Brandneu AG"}, actor=None, now=NOW)

    assert found("brandneu") == {"page"}


def test_an_index_that_a_migration_lost_is_made_and_filled_again() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL keeps its own index in step")
    make_change(make_monitor(name="page"), search_text="arbitration")
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER monitoring_change_search_insert")
    make_change(make_monitor(name="unseen"), search_text="arbitration")
    lost = found("arbitration")

    searching.keep_index()

    assert lost == {"page"}
    assert found("arbitration") == {"page", "unseen"}
    make_change(make_monitor(name="third"), search_text="arbitration")
    assert len(found("arbitration")) == 3


def test_the_search_asks_the_index() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads a table of three rows without its index")
    plan = Change.objects.filter(searching.matching("arbitration"), state="open").values("pk").explain()

    assert "VIRTUAL TABLE INDEX" in plan
