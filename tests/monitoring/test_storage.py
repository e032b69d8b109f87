"""The store of page bytes: durable before a row, whole or not there, once per digest, small for a page's history."""

from __future__ import annotations

import errno
import hashlib
import os
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from hypothesis import given
from hypothesis import strategies as st

from monitoring import storage
from monitoring.models import Payload
from monitoring.storage.packing import MOST_DELTAS, Wear, pack, pack_delta, unpack, wears_out

pytestmark = pytest.mark.django_db


def words(seed: int, count: int) -> bytes:
    """A page that does not compress well."""
    rng = random.Random(seed)
    return b" ".join(b"%x" % rng.getrandbits(48) for _ in range(count))


def edited(page: bytes, seed: int) -> bytes:
    """The page with a sentence of its own somewhere."""
    place = random.Random(seed).randrange(len(page))
    return page[:place] + words(seed, 5) + page[place:]


def objects() -> list[storage.StoredObject]:
    return list(storage.store().objects())


def bytes_of(payload: Payload) -> Path:
    return storage.path_of(payload)


def test_what_is_put_is_got_back() -> None:
    payload = storage.put(b"page " * 1000)

    assert storage.get(payload) == b"page " * 1000
    assert payload.size_bytes == 5000
    assert payload.stored_bytes < 500
    assert bytes_of(payload).stat().st_size == payload.stored_bytes
    assert payload.stored_sha256 == hashlib.sha256(bytes_of(payload).read_bytes()).hexdigest()


def test_an_empty_body_is_stored_too() -> None:
    assert storage.get(storage.put(b"")) == b""


def test_the_same_bytes_are_stored_once() -> None:
    assert storage.put(b"page") == storage.put(b"page")
    assert len(objects()) == 1


def test_bytes_stored_before_there_were_keyframes_can_be_read_and_built_upon() -> None:
    body = words(1, 500)
    digest = hashlib.sha256(body).hexdigest()
    packed = zstandard.compress(body, 3)
    old = Payload.objects.create(sha256=digest, size_bytes=len(body), stored_bytes=len(packed))
    bytes_of(old).parent.mkdir(parents=True)
    bytes_of(old).write_bytes(packed)

    new = storage.put(edited(body, 2), like=old)

    assert bytes_of(old).name == f"{digest}.zst"
    assert storage.get(old) == body
    assert new.keyframe == old
    assert storage.get(new) == edited(body, 2)


# -- histories ---------------------------------------------------------------------------


def test_later_captures_of_a_page_are_stored_as_differences_from_its_keyframe() -> None:
    first = storage.put(words(1, 2000))
    bodies = [edited(words(1, 2000), seed) for seed in range(5)]
    kept: list[Payload] = [first]
    for body in bodies:
        kept.append(storage.put(body, like=kept[-1]))

    assert {payload.keyframe for payload in kept[1:]} == {first}  # and never one that is a difference itself
    assert all(payload.stored_bytes < first.stored_bytes / 20 for payload in kept[1:])
    storage.forget()
    assert [storage.get(payload) for payload in Payload.objects.filter(keyframe=first).order_by("pk")] == bodies


def test_a_keyframe_serves_nineteen_captures_and_then_there_is_a_new_one() -> None:
    page = words(1, 2000)
    last = storage.put(page)
    keyframes = []
    for seed in range(45):
        last = storage.put(edited(page, seed), like=last)
        keyframes.append((last.keyframe or last).pk)

    counts = [keyframes.count(pk) for pk in dict.fromkeys(keyframes)]
    assert counts == [MOST_DELTAS, MOST_DELTAS + 1, 45 - 2 * MOST_DELTAS - 1]


def test_a_page_that_is_another_becomes_a_keyframe_of_its_own() -> None:
    first = storage.put(words(1, 2000))

    assert storage.put(words(2, 2000), like=first).keyframe is None


def test_a_page_that_moves_away_from_its_keyframe_gets_a_new_one_early() -> None:
    page = words(1, 2000)
    last = first = storage.put(page)
    for seed in range(12):
        page = page[: len(page) * 9 // 10] + words(seed + 50, 200)
        last = storage.put(page[seed * 300 :] + words(seed, 60 * seed), like=last)

    assert (last.keyframe or last) != first


def test_two_monitors_with_the_same_bytes_share_them_whatever_they_are_compared_with() -> None:
    one, other = storage.put(words(1, 1000)), storage.put(words(2, 1000))
    page = edited(words(1, 1000), 3)

    assert storage.put(page, like=one) == storage.put(page, like=other)


def test_small_pages_do_not_rest_on_others() -> None:
    assert storage.put(b"a page of a few words, edited", like=storage.put(b"a page of a few words")).keyframe is None


@pytest.mark.django_db(transaction=True)
def test_a_keyframe_that_others_rest_on_can_not_be_removed() -> None:
    first = storage.put(words(1, 1000))
    storage.put(edited(words(1, 1000), 1), like=first)

    with pytest.raises(IntegrityError):
        Payload.objects.filter(pk=first.pk)._raw_delete(using="default")


@given(old=st.binary(max_size=3000), new=st.binary(max_size=3000))
@pytest.mark.django_db(transaction=False)
def test_every_delta_gives_back_its_bytes(old: bytes, new: bytes) -> None:
    assert unpack(pack_delta(new, old), size_bytes=len(new), keyframe=old) == new
    assert unpack(pack(new), size_bytes=len(new)) == new


@pytest.mark.parametrize("size", [3_000_000, 9_000_000])
def test_the_whole_of_a_large_keyframe_is_within_reach(size: int) -> None:
    old = random.Random(1).randbytes(size)

    assert len(pack_delta(old[:1000] + b"edit" + old[1000:], old)) < size / 1000


@given(st.integers(0, MOST_DELTAS), st.integers(0, 10**6), st.integers(1, 10**6), st.floats(1, 10**6, allow_nan=False))
def test_a_delta_that_costs_nearly_a_keyframe_is_never_worth_it(
    count: int, least: int, delta: int, full: float
) -> None:
    wear = Wear(count, least * count, least if count else 0)

    if delta >= full * 0.7 or count >= MOST_DELTAS:
        assert wears_out(wear, delta, full)
    elif delta <= least and count:
        assert wears_out(wear, delta, full) == (count * (least - delta) >= full)


# -- damage ------------------------------------------------------------------------------


def test_a_row_without_its_object_is_made_good() -> None:
    payload = storage.put(b"page")
    storage.delete(payload)

    assert storage.get(storage.put(b"page")) == b"page"
    assert Payload.objects.count() == 1


def test_a_damaged_keyframe_is_made_good_when_its_page_comes_back() -> None:
    page = words(1, 1000)
    first = storage.put(page)
    second = storage.put(edited(page, 1), like=first)
    bytes_of(first).write_bytes(b"junk")
    storage.forget()

    again = storage.put(page)

    assert again == first
    assert storage.get(Payload.objects.get(pk=second.pk)) == edited(page, 1)


@pytest.mark.parametrize(
    "damage", [b"", b"junk", zstandard.compress(b"other"), zstandard.compress(b"longer than it was")]
)
@pytest.mark.parametrize("checksum", [True, False])
def test_damaged_bytes_are_never_handed_out(damage: bytes, checksum: bool) -> None:
    payload = storage.put(b"page")
    if not checksum:  # as with rows from before there were checksums over the stored bytes
        payload.stored_sha256 = ""
    bytes_of(payload).write_bytes(damage)

    with pytest.raises(storage.PayloadDamageError, match=payload.sha256):
        storage.get(payload)


def test_missing_bytes_are_named() -> None:
    payload = storage.put(b"page")
    storage.delete(payload)

    with pytest.raises(storage.ObjectMissingError, match="No such file"):
        storage.get(payload)


def test_a_store_that_is_not_there_says_nothing_about_its_payloads(settings: Any) -> None:
    payload = storage.put(b"page")
    settings.PAYLOAD_DIR = settings.PAYLOAD_DIR.with_name("not mounted")

    with pytest.raises(storage.StorageUnavailableError, match="not there"):
        storage.get(payload)


def test_no_delta_is_made_against_a_damaged_keyframe() -> None:
    first = storage.put(words(1, 1000))
    bytes_of(first).write_bytes(b"junk")

    second = storage.put(edited(words(1, 1000), 1), like=first)

    assert second.keyframe is None
    assert storage.get(second) == edited(words(1, 1000), 1)


# -- writing -----------------------------------------------------------------------------


def no_space(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("step", ["fsync", "replace", "open", "mkdir"])
def test_a_write_cut_short_leaves_neither_file_nor_row(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*((os, "fsync", no_space) if step == "fsync" else (Path, step, no_space)))

    with pytest.raises(storage.StorageWriteError, match="No space left") as error:
        storage.put(b"page")

    assert error.value.no_space
    assert objects() == []
    assert [path for path in storage.store().root.rglob("*") if path.is_file()] == []  # type: ignore[attr-defined]
    assert not Payload.objects.exists()


def test_bytes_are_durable_before_their_row_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    storage.put(b"the folders above")
    order: list[str] = []

    def noting[**P, R](step: str, call: Callable[P, R]) -> Callable[P, R]:
        def noted(*args: P.args, **more: P.kwargs) -> R:
            order.append(step)
            return call(*args, **more)

        return noted

    monkeypatch.setattr(os, "fsync", noting("fsync", os.fsync))
    monkeypatch.setattr(Path, "mkdir", noting("folder", Path.mkdir))
    monkeypatch.setattr(Path, "replace", noting("rename", Path.replace))
    monkeypatch.setattr(Payload.objects, "get_or_create", noting("row", Payload.objects.get_or_create))

    storage.put(b"page")

    # each new folder is made durable in the one above before anything is in it
    assert order == ["folder", "fsync", "folder", "fsync", "fsync", "rename", "fsync", "row"]


def test_a_disk_that_gives_back_other_bytes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"other")

    with pytest.raises(storage.StorageWriteError, match="other bytes"):
        storage.put(b"page")

    assert not Payload.objects.exists()
    assert objects() == []


def test_a_payload_handed_out_again_is_marked_so_that_retention_leaves_it() -> None:
    payload = storage.put(b"page")
    Payload.objects.update(created_at=payload.created_at - timedelta(days=3))

    again = storage.put(b"page")

    again.refresh_from_db()
    assert again == payload
    assert again.wanted_at is not None
    assert again.wanted_at > payload.created_at


# -- verify ------------------------------------------------------------------------------


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("damage", "bad"),
    [
        (lambda k: flip(bytes_of(k[2])), [2]),
        (lambda k: cut(bytes_of(k[3])), [3]),
        (lambda k: swap(bytes_of(k[2]), bytes_of(k[4])), [2, 4]),
        (lambda k: bytes_of(k[4]).unlink(), [4]),
        (lambda k: flip(bytes_of(k[0])), [0, 1, 2, 3, 4]),  # what rests on a damaged keyframe
    ],
    ids=["bit flipped", "tail cut", "two swapped", "missing", "keyframe"],
)
def test_verify_names_every_damage_and_the_first_one_first(
    damage: Callable[[list[Payload]], None], bad: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [storage.put(words(1, 1000))]
    kept += [storage.put(edited(words(1, 1000), seed), like=kept[0]) for seed in range(4)]
    kept.append(storage.put(b"another page"))
    call_command("verify")
    assert "6 payloads are whole" in capsys.readouterr().out
    damage(kept)

    with pytest.raises(CommandError, match=f"{len(bad)} of 6"):
        call_command("verify")

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"first damaged record: number {kept[bad[0]].pk} ")
    assert [f"number {kept[place].pk} " in line for place, line in zip(bad, lines, strict=True)] == [True] * len(bad)
    if bad[0] == 0:
        assert "4 other payloads rest on it" in lines[0]
        assert "rests on a damaged keyframe" in lines[1]


def test_verify_goes_on_after_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    first, _second = storage.put(b"one"), storage.put(b"two")
    bytes_of(first).unlink()

    call_command("verify", after=first.pk)

    assert "1 payloads are whole" in capsys.readouterr().out


def test_verify_reads_the_keyframe_and_not_what_is_held_of_it() -> None:
    first = storage.put(words(1, 1000))
    second = storage.put(edited(words(1, 1000), 1), like=first)
    storage.get(second)
    flip(bytes_of(first))

    with pytest.raises(CommandError, match="2 of 2"):
        call_command("verify")


@pytest.mark.slow
def test_a_clean_store_of_some_thousand_has_no_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # no power fails in this test
    last = None
    for number in range(2_000):
        last = storage.put(edited(words(number // 50, 300), number), like=last)
    assert Payload.objects.filter(keyframe=None).count() < 200

    call_command("verify", every=500)

    out = capsys.readouterr().out
    assert "2000 payloads are whole" in out
    assert out.count("payloads read, 0 damaged") == 4


def test_verify_says_where_to_go_on_when_the_store_is_away(settings: Any) -> None:
    first = storage.put(b"one")
    settings.PAYLOAD_DIR = settings.PAYLOAD_DIR.with_name("not mounted")

    with pytest.raises(CommandError, match="go on with --after 0"):
        call_command("verify")
    assert first.pk
