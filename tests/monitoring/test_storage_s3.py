"""Page bytes in a service that speaks S3, and what becomes of a visit when the service fails or lies."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from monitoring import storage
from monitoring.models import Change, Check, Monitor, Payload, Snapshot
from monitoring.services import retention
from monitoring.storage import s3
from monitoring.storeaddress import read_address
from review import visits
from tests.monitoring.conftest import visit
from tests.monitoring.s3server import PAGE, S3Server, serving
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page
from tests.monitoring.test_storage import edited, words

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


# A hundred times by make test LONG=1: the service is asked three times over for each.
ROUNDS = 100 if os.environ.get("TIDELINE_TEST_LONG") == "1" else 10


@pytest.fixture
def service(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """The store in force is a service on loopback; a request that gets no answer is given up soon, and not repeated."""
    monkeypatch.setattr(s3, "READ_S", 0.3)
    monkeypatch.setattr(s3, "ATTEMPTS", 1)
    with serving() as server:
        settings.STORAGE = read_address(server.url)
        yield server
        storage.store_at.cache_clear()


def failing(what: str, method: str = "", *, times: int = 10**9) -> Callable[[str, str], str]:
    """A fault of the first so many requests of a method."""
    left = [times]

    def fault(asked: str, key: str) -> str:
        if (method and asked != method) or not key or not left[0]:
            return ""
        left[0] -= 1
        return what

    return fault


def test_bytes_are_kept_below_the_prefix_and_come_back(service: S3Server) -> None:
    first = storage.put(words(1, 500))
    second = storage.put(edited(words(1, 500), 1), like=first)
    storage.forget()

    assert second.keyframe == first
    assert storage.get(second) == edited(words(1, 500), 1)
    name = first.object_name
    assert f"tide/line/{name[:2]}/{name[2:4]}/{name}.zst" in service.objects
    assert len(service.objects) == 2


def test_what_was_written_is_read_back_before_there_is_a_row(service: S3Server) -> None:
    storage.put(b"page")

    assert [method for method, _key in service.requests] == ["PUT", "GET"]


@pytest.mark.parametrize(("fault", "method"), [
    ("500", "PUT"), ("507", "PUT"), ("silent", "PUT"), ("garbled", "PUT"), ("forgotten", "PUT"),
    ("500", "GET"), ("silent", "GET"), ("cut", "GET"), ("wrong", "GET"),
])  # fmt: skip
def test_there_is_no_row_without_a_verified_object(service: S3Server, fault: str, method: str) -> None:
    service.fault = failing(fault, method)

    with pytest.raises(storage.StorageWriteError) as error:
        storage.put(b"page " * 100)

    assert error.value.no_space == (fault == "507")
    assert not Payload.objects.exists()
    service.fault = failing("")
    assert storage.get(storage.put(b"page " * 100)) == b"page " * 100


def test_a_service_that_keeps_other_bytes_is_caught_every_time(service: S3Server) -> None:
    service.fault = failing("garbled", "PUT")
    caught = 0
    for number in range(ROUNDS):
        with pytest.raises(storage.StorageWriteError, match="other bytes"):
            storage.put(b"page %d" % number)
        caught += 1

    assert caught == ROUNDS
    assert not Payload.objects.exists()


def test_wrong_bytes_are_never_handed_out_and_asked_for_again(service: S3Server) -> None:
    kept = [storage.put(words(number, 50)) for number in range(ROUNDS)]
    rng = random.Random(1)
    lies = 0

    def lying(method: str, key: str) -> str:
        nonlocal lies
        lie = method == "GET" and rng.random() < (0.05 if ROUNDS == 100 else 0.2)
        lies += lie
        return "wrong" if lie else ""

    service.fault = lying
    for number, payload in enumerate(kept):
        assert storage.get(payload) == words(number, 50)
    assert lies >= 1

    service.fault = failing("wrong", "GET")
    for payload in kept:
        with pytest.raises(storage.PayloadDamageError, match=payload.sha256):
            storage.get(payload)


@pytest.mark.parametrize("fault", ["500", "silent", "cut"])
def test_a_service_that_is_away_says_nothing_about_what_it_holds(service: S3Server, fault: str) -> None:
    payload = storage.put(b"page " * 100)
    service.fault = failing(fault, "GET")

    with pytest.raises(storage.StorageUnavailableError):
        storage.get(payload)


def test_an_object_that_is_gone_is_damage(service: S3Server) -> None:
    payload = storage.put(b"page")
    service.objects.clear()

    with pytest.raises(storage.ObjectMissingError, match="no such object"):
        storage.get(payload)


def test_no_secret_stands_in_a_message(service: S3Server, settings: Any) -> None:
    service.fault = failing("500")

    with pytest.raises(storage.StorageWriteError) as error:
        storage.put(b"page")

    assert "cret" not in f"{error.value!r} {error.value} {storage.store().where} {settings.STORAGE!r}"


def test_a_listing_pages_through_everything(service: S3Server) -> None:
    names = {storage.put(b"page %d" % number).object_name for number in range(2 * PAGE + 3)}
    service.keep("tide/other/of somebody else.zst", b"")

    assert {found.name for found in storage.store().objects()} == names


def test_retention_removes_objects_here_too(service: S3Server) -> None:
    kept, idle = storage.put(b"kept"), storage.put(b"idle")
    Payload.objects.filter(pk=kept.pk).update(wanted_at=timezone.now() + timedelta(days=3))
    service.keep("tide/line/ab/cd/abcd.zst", b"of a transaction that never came")

    counts = retention.sweep(now=timezone.now() + timedelta(days=2))

    assert (counts["payloads"], counts["files"]) == (1, 1)
    assert [key.rpartition("/")[2] for key in service.objects] == [f"{kept.object_name}.zst"]
    assert not Payload.objects.filter(pk=idle.pk).exists()


# -- visits ------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["500", "507", "silent", "garbled", "forgotten"])
def test_a_change_that_can_not_be_kept_is_found_at_the_next_visit(
    service: S3Server, watch: Watch, site: LocalSite, fault: str
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    service.fault = failing(fault, "PUT")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "storage")
    assert ("no space" in visits.visit_words(check)) == (fault == "507")
    assert not Change.objects.exists()
    service.fault = failing("")
    assert visit(monitor).outcome == "content"
    assert all(storage.get(payload) for payload in Payload.objects.all())


@pytest.mark.parametrize("fault", ["500", "silent", "cut"])
def test_a_baseline_that_can_not_be_read_just_now_stays_the_baseline(
    service: S3Server, watch: Watch, site: LocalSite, fault: str
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    baseline = monitor.baseline_id
    site.put("/a", page(clauses=CLAUSES[1:]))
    service.fault = failing(fault, "GET")

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "storage")
    assert monitor.baseline_id == baseline
    assert monitor.rebaseline == ""
    service.fault = failing("")
    assert visit(monitor).outcome == "content"


def test_one_wrong_answer_does_not_cost_the_baseline(service: S3Server, watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    service.fault = failing("wrong", "GET", times=1)

    assert visit(monitor).outcome == "content"
    assert Change.objects.count() == 1
    assert Snapshot.objects.count() == 2
    assert not Check.objects.filter(reason="our-change").exists()


# -- moving ------------------------------------------------------------------------------


def history(count: int) -> dict[int, bytes]:
    """A few keyframes and deltas: bytes by the row's number."""
    bodies: dict[int, bytes] = {}
    last = None
    for number in range(count):
        body = edited(words(number // 6, 400), number)
        last = storage.put(body, like=last)
        bodies[last.pk] = body
    return bodies


def test_payloads_move_to_a_service_and_back(
    service: S3Server, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    place, settings.STORAGE = settings.STORAGE, None
    bodies = history(15)
    folder = settings.PAYLOAD_DIR

    call_command("move_payloads", to=service.url)

    out = capsys.readouterr().out
    assert "15 payloads copied" in out
    assert "TIDELINE_STORAGE" in out
    settings.STORAGE = place
    storage.forget()
    assert {p.pk: storage.get(p) for p in Payload.objects.all()} == bodies
    settings.PAYLOAD_DIR = folder.with_name("again")
    call_command("move_payloads", to=settings.PAYLOAD_DIR.as_uri())
    settings.STORAGE = None
    storage.forget()
    assert {p.pk: storage.get(p) for p in Payload.objects.all()} == bodies


def test_a_move_that_breaks_off_goes_on_where_it_was(
    service: S3Server, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.STORAGE = None
    bodies = history(10)
    puts = iter(range(10**6))
    service.fault = lambda method, key: "500" if method == "PUT" and next(puts) == 5 else ""

    with pytest.raises(CommandError, match=r"5 payloads copied.*run it again"):
        call_command("move_payloads", to=service.url)
    service.requests.clear()
    call_command("move_payloads", to=service.url)

    assert "5 payloads copied, 5 were there" in capsys.readouterr().out
    assert sum(method == "PUT" for method, _key in service.requests) == 5
    settings.STORAGE = read_address(service.url)
    assert all(storage.get(Payload.objects.get(pk=pk)) == body for pk, body in bodies.items())


def test_a_damaged_payload_is_named_and_not_moved(
    service: S3Server, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.STORAGE = None
    history(4)
    bad = Payload.objects.filter(keyframe=None).first()
    assert bad is not None
    storage.path_of(bad).write_bytes(b"junk")

    with pytest.raises(CommandError, match=r"1 .*damaged"):
        call_command("move_payloads", to=service.url)

    assert bad.sha256 in capsys.readouterr().err
    assert len(service.objects) == Payload.objects.count() - 1


@pytest.mark.parametrize("address", ["ftp://x/y", "s3://host", "file://x"])
def test_a_bad_address_is_told(address: str) -> None:
    with pytest.raises(CommandError, match="--to"):
        call_command("move_payloads", to=address)
