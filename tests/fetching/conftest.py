"""Fixtures for fetching."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of this test alone, with a short name: browsers keep sockets in it."""
    with tempfile.TemporaryDirectory(prefix="tl-") as folder:
        Path(folder).chmod(0o711)  # as /tmp itself: the browser runs as another user
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
