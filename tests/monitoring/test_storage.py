"""The store of page bytes: durable before a row, whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command

from monitoring import storage
from monitoring.models import Payload

pytestmark = pytest.mark.django_db


def test_what_is_put_is_got_back() -> None:
    payload = storage.put(b"page " * 1000)

    assert storage.get(payload) == b"page " * 1000
    assert payload.size_bytes == 5000
    assert payload.stored_bytes < 500
    assert storage.path_of(payload.sha256).stat().st_size == payload.stored_bytes


def test_an_empty_body_is_stored_too() -> None:
    assert storage.get(storage.put(b"")) == b""


def test_the_same_bytes_are_stored_once() -> None:
    assert storage.put(b"page") == storage.put(b"page")
    assert len(list(storage.files())) == 1


def test_a_row_without_its_file_is_made_good() -> None:
    payload = storage.put(b"page")
    storage.delete(payload.sha256)

    assert storage.get(storage.put(b"page")) == b"page"


@pytest.mark.parametrize(
    "damage", [b"", b"junk", zstandard.compress(b"other"), zstandard.compress(b"longer than it was")]
)
def test_damaged_bytes_are_never_handed_out(damage: bytes) -> None:
    payload = storage.put(b"page")
    storage.path_of(payload.sha256).write_bytes(damage)

    with pytest.raises(storage.PayloadDamageError, match=payload.sha256):
        storage.get(payload)


def test_missing_bytes_are_named() -> None:
    payload = storage.put(b"page")
    storage.delete(payload.sha256)

    with pytest.raises(storage.PayloadDamageError, match="No such file"):
        storage.get(payload)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_cut_short_leaves_neither_file_nor_row(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))

    with pytest.raises(storage.StorageWriteError, match="No space left"):
        storage.put(b"page")

    assert list(storage.files()) == list(storage.leftovers()) == []
    assert not Payload.objects.exists()


def test_bytes_are_durable_before_their_row_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def noting[**P, R](step: str, call: Callable[P, R]) -> Callable[P, R]:
        def noted(*args: P.args, **more: P.kwargs) -> R:
            order.append(step)
            return call(*args, **more)

        return noted

    monkeypatch.setattr(os, "fsync", noting("fsync", os.fsync))
    monkeypatch.setattr(Path, "replace", noting("rename", Path.replace))
    monkeypatch.setattr(Payload.objects, "get_or_create", noting("row", Payload.objects.get_or_create))

    storage.put(b"page")

    assert order == ["fsync", "rename", "fsync", "row"]


def test_verify_names_a_damaged_payload(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = storage.put(b"good"), storage.put(b"bad")
    call_command("verify")
    assert "2 payloads are whole" in capsys.readouterr().out
    storage.path_of(bad.sha256).write_bytes(b"junk")

    with pytest.raises(CommandError, match="1 of 2"):
        call_command("verify")

    error = capsys.readouterr().err
    assert bad.sha256 in error
    assert good.sha256 not in error
