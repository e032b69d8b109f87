"""The page on configuring names what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from monitoring.services import importing
from review import roles

PAGE = (Path(settings.BASE_DIR) / "docs" / "configuring.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("column", importing.COLUMNS)
def test_every_column_of_an_import_is_named(column: str) -> None:
    assert f"`{column}`" in PAGE


@pytest.mark.parametrize("role", roles.ALL)
def test_every_role_is_named(role: str) -> None:
    assert f"| {role} |" in PAGE


def test_bounds_of_an_import_are_the_ones_in_force() -> None:
    assert f"{importing.MAX_LINES:,} lines and {importing.MAX_BYTES // 1_000_000} MB" in PAGE


def test_the_example_can_be_read() -> None:
    example = PAGE.split("```")[1].strip()

    assert all(name in importing.COLUMNS for name in example.splitlines()[0].split(";"))


def test_the_lock_is_as_long_as_it_says() -> None:
    assert f"for {int(settings.AXES_COOLOFF_TIME * 60)} minutes" in PAGE
    assert settings.AXES_FAILURE_LIMIT == 10
    assert settings.PASSWORD_RESET_TIMEOUT == 3 * 86_400
