"""The documents stay true: settings and commands are listed, links lead somewhere, nothing names this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_every_setting_is_documented() -> None:
    source = (ROOT / "config/settings.py").read_text()
    found = re.findall(r'"(TIDELINE_[A-Z_]+)"', source)
    names = {
        name + "NAME" if name.endswith("_") else name for name in found
    }  # a prefix: the deployment chooses the rest
    documented = set(re.findall(r"^\| `(TIDELINE_[A-Z_]+)`", (ROOT / "docs/operations.md").read_text(), re.M))

    assert names == documented


def test_every_command_is_documented() -> None:
    ours = {name for name, app in get_commands().items() if app in {"monitoring", "review"}}
    documented = set(re.findall(r"^\| `manage\.py (\w+)", (ROOT / "docs/operations.md").read_text(), re.M))

    assert ours <= documented, f"undocumented: {sorted(ours - documented)}"
    assert documented <= set(get_commands()), f"unknown: {sorted(documented - set(get_commands()))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_names_a_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:work|root|home)/", page.read_text())


def test_the_make_targets_named_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for name in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert name in targets, f"{page.name} names make {name}"
