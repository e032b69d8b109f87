"""The local site and its monitors, as the machine side's tests use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.monitoring.conftest import site, watch

__all__ = ["site", "watch"]

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Part of `make test` and not of `make unit`: the suite forks a process for every case."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
