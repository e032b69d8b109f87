"""In which ways the browser is started, the safest first."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from monitoring.fetching.browser_launch import launches


@pytest.fixture
def folder() -> Iterator[Path]:
    """A render's folder, in a place where other users may pass."""
    with TemporaryDirectory(prefix="tl-") as place:
        Path(place).chmod(0o711)
        (Path(place) / "render").mkdir(mode=0o700)
        yield Path(place) / "render"


@pytest.fixture
def program(folder: Path) -> Path:
    """A program that everyone may run, and that tells who it runs as."""
    path = folder.parent / "browser"
    path.write_text('#!/bin/sh\nid -u\necho "$HOME"\necho "$@"\n')
    path.chmod(0o755)
    return path


def test_an_ordinary_user_starts_it_with_the_sandbox_first(
    monkeypatch: pytest.MonkeyPatch, folder: Path, program: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    first, second = launches(str(program), folder)

    assert (first.executable, first.sandbox, first.remark) == (str(program), True, "")
    assert (second.executable, second.sandbox) == (str(program), False)
    assert "without its sandbox" in second.remark


@pytest.mark.parametrize("obstacle", ["no setpriv", "private program", "private folder"])
def test_root_keeps_its_rights_only_where_it_must_and_says_so(
    obstacle: str, monkeypatch: pytest.MonkeyPatch, folder: Path, program: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: None if obstacle == "no setpriv" else "/usr/bin/setpriv")
    if obstacle == "private program":
        program.chmod(0o700)
    if obstacle == "private folder":
        folder.parent.chmod(0o700)

    (only,) = launches(str(program), folder)

    assert (only.executable, only.sandbox) == (str(program), False)
    assert "as root" in only.remark


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
def test_root_starts_it_as_a_user_without_rights_who_owns_the_profile(folder: Path, program: Path) -> None:
    profile = folder / "profile"
    profile.mkdir()

    first, second = launches(str(program), folder)
    said = subprocess.run(
        [first.executable, f"--user-data-dir={profile}", "a b"], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    uid = int(said[0])
    assert 61184 <= uid < 65184
    assert said[1:] == [str(folder / "home"), f"--user-data-dir={profile} a b"]
    assert profile.stat().st_uid == (folder / "home").stat().st_uid == uid
    assert folder.stat().st_uid == 0
    assert (first.sandbox, second.sandbox) == (True, False)
