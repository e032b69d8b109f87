"""Compiled modules say the same as their sources, and are never taken for those of other sources."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from monitoring.detection import native
from monitoring.detection.read import main_text_of, read, skim

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "tests" / "pages").glob("*/*.html"))
ODD = (
    "<p>a<b>b</b> <a href=/x?utm_source=1>c</a><br>d" + "<div>" * 3000 + "deep",
    "<table><tr><td>1<td>2<tr><td><p>3</p></table><pre>a\n\nb</pre><svg><title>t</title></svg>",
    "<div hidden>h</div><p style='display:none'>n</p><iframe srcdoc='<p>in</p>'></iframe><img alt='p'>",
    "<p>\ud800 lone</p>",
    "",
)


def digest() -> str:
    """A hash of all that reading makes of the shipped pages and of some odd markup."""
    said = hashlib.sha256()
    for html in (*(page.read_text(encoding="utf-8", errors="replace") for page in PAGES), *ODD):
        for made in (read(html), skim(html), main_text_of(html), read(html, main_selector="p, main")):
            said.update(repr(made).encode("utf-8", "backslashreplace"))
    return said.hexdigest()


def test_compiled_modules_read_as_their_sources_do() -> None:
    if not native.is_native():
        pytest.skip("the modules are not compiled here (no C compiler)")
    command = [sys.executable, "-X", "pure", "-c", "from tests.detection.test_native import digest; print(digest())"]

    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    assert len(PAGES) > 50
    assert told == digest()


def test_an_edited_source_has_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in native._HERE.glob("*.py"):
        shutil.copy(source, tmp_path)
    monkeypatch.setattr(native, "_HERE", tmp_path)
    same = native.key()

    with (tmp_path / "walk.py").open("a") as edited:
        edited.write("\n")

    assert same != native.key()


def test_a_half_built_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "home", lambda: tmp_path)
    (tmp_path / native.key()).mkdir()

    assert native.folder() is None

    (tmp_path / native.key() / "complete").touch()
    assert native.folder() == tmp_path / native.key()
