"""Vantages: the proxy's template and its secrets, and what of a vantage is on record."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from monitoring.models import Monitor, Snapshot, Vantage
from monitoring.services import monitors, vantages
from tests.factories import make_monitor
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

TEMPLATE = "http://halden-{country}:{secret:GATE}@gate.example:7777"


@pytest.fixture
def proxy(settings: Any) -> Iterator[LocalSite]:
    """A proxy on loopback that answers by itself, as one in the vantage's country would be answered."""
    local = LocalSite()
    settings.TRUSTED_PROXIES = [local.address]
    yield local
    local.close()


def made(proxy: str = TEMPLATE, **extra: Any) -> Vantage:
    return Vantage(name="Germany", country="DE", proxy_url=proxy, **extra)


def test_country_and_secret_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_GATE", "hunter2:/@?")

    spec = vantages.spec_of(made())

    assert spec.proxy_url == "http://halden-de:hunter2%3A%2F%40%3F@gate.example:7777"
    assert "hunter2" not in repr(spec)


def test_a_secret_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gate").write_text("from-a-file\n")
    monkeypatch.setenv("TIDELINE_SECRET_GATE_FILE", str(tmp_path / "gate"))

    assert vantages.spec_of(made()).proxy_url == "http://halden-de:from-a-file@gate.example:7777"


def test_a_secret_goes_to_no_host_that_it_is_not_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_GATE", "hunter2")
    monkeypatch.setenv("TIDELINE_SECRET_GATE_HOSTS", "gate.example, de.gate.example")

    thief = vantages.spec_of(made(TEMPLATE.replace("gate.example", "thief.example")))

    assert (thief.proxy_url, "may not be given to thief.example" in thief.proxy_fault) == ("", True)
    assert "hunter2" in vantages.spec_of(made()).proxy_url
    assert "hunter2" in vantages.spec_of(made("http://me:{secret:GATE}@{country}.gate.example:1")).proxy_url


def test_without_the_secret_nothing_is_asked_and_the_check_says_why(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(), vantage=Vantage.objects.create(name="Germany", country="DE", proxy_url=TEMPLATE))

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "refused-by-policy")
    assert "TIDELINE_SECRET_GATE" in check.detail
    assert site.visits["/a"] == 0


def test_a_page_is_asked_for_through_the_vantages_proxy(
    watch: Watch, site: LocalSite, proxy: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELINE_SECRET_GATE", "hunter2")
    template = f"http://halden-{{country}}:{{secret:GATE}}@{proxy.address}"
    vantage = Vantage.objects.create(name="Germany", country="DE", proxy_url=template, language="de", locale="de-AT")
    monitor = watch("/a", vantage=vantage)
    proxy.put(site.url("/a"), page())

    check = visit(monitor)

    assert (check.outcome, check.as_then("vantage_id")) == ("none", vantage.pk)
    asked = proxy.asked[site.url("/a")]
    assert base64.b64decode(asked["proxy-authorization"].removeprefix("Basic ")) == b"halden-de:hunter2"
    assert asked["accept-language"] == "de"
    assert site.visits["/a"] == 0
    kept = Snapshot.objects.get().vantage
    assert (kept["id"], kept["country"], kept["locale"]) == (vantage.pk, "DE", "de-AT")
    assert "hunter2" not in str(kept)


def test_a_page_is_asked_for_anew_when_its_vantage_was_changed(watch: Watch, site: LocalSite) -> None:
    other = Vantage.objects.create(name="Elsewhere", language="fr")
    monitor = watch("/a", page())
    visit(monitor)
    monitors.change_settings(Monitor.objects.get(), {"vantage": other}, actor=None)

    check = visit(monitor)

    assert check.vantage_id == other.pk
    assert site.asked["/a"]["accept-language"] == "fr"


def test_what_is_no_place_stands_as_it_is() -> None:
    assert vantages.filled("http://{x}-{country}@h:1", country="DE") == "http://{x}-de@h:1"


def test_a_vantage_that_checks_refer_to_stays() -> None:
    from django.db.models import ProtectedError

    from tests.factories import make_check

    vantage = Vantage.objects.create(name="Old")
    make_check(make_monitor(), vantage=vantage)

    with pytest.raises(ProtectedError):
        vantage.delete()
