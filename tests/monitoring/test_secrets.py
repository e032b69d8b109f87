"""Secrets by reference: where they come from, and that nothing shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from config.environment import Secrets
from monitoring.services.secrets import SecretError, is_reference, resolve


def test_a_reference_is_resolved_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP_LOGIN", "correct horse")

    assert resolve("secret:SHOP_LOGIN") == "correct horse"


def test_a_reference_is_resolved_from_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("from a file\n")
    monkeypatch.setenv("TIDELINE_SECRET_SHOP_FILE", str(tmp_path / "one"))

    assert resolve("secret:SHOP") == "from a file"


def test_a_reference_is_resolved_from_the_secrets_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "secrets"
    listed.write_text("# of the shop\nSHOP = a=b c\nOTHER=x\n")
    monkeypatch.setattr(settings, "SECRETS", Secrets("TIDELINE_SECRET_", str(listed)))

    assert resolve("secret:SHOP") == "a=b c"


@pytest.mark.parametrize("name", ["KEY", "KEY_FILE", "SHOP_FILE", "shop", "", "A B", "A" * 65])
def test_what_can_be_no_secrets_name_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"TIDELINE_SECRET_{name}", "the product's own signing key")

    with pytest.raises(SecretError) as caught:
        resolve(f"secret:{name}")

    assert "signing" not in caught.value.sentence


def test_a_missing_secret_is_named_with_what_to_do() -> None:
    with pytest.raises(SecretError, match="set TIDELINE_SECRET_NOBODY or add a line"):
        resolve("secret:NOBODY")


def test_a_short_secret_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP", "xyz")

    with pytest.raises(SecretError) as caught:
        resolve("secret:SHOP")

    assert "xyz" not in caught.value.sentence


@pytest.mark.parametrize("own_file", [True, False])
def test_a_file_that_cannot_be_read_is_told_and_ends_nothing(
    own_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = str(tmp_path / "none")
    if own_file:
        monkeypatch.setenv("TIDELINE_SECRET_SHOP_FILE", nowhere)
    else:
        monkeypatch.setattr(settings, "SECRETS", Secrets("TIDELINE_SECRET_", nowhere))

    with pytest.raises(SecretError, match="cannot be read"):
        resolve("secret:SHOP")


def test_printing_the_settings_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_SHOP", "correct horse")

    assert "horse" not in repr(settings.SECRETS)
    assert is_reference("secret:SHOP")
