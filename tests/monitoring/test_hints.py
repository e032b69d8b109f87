"""Sitemaps and feeds of a local site, from robots.txt to a check that comes sooner."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Hint, HintSource, Monitor, Site
from monitoring.services import hints, monitors
from tests.factories import make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite, Page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

PAGE = "<main><h1>Terms</h1>" + "<p>A clause about the keeping of records by the library.</p>" * 20 + "</main>"


def sitemap(*entries: tuple[str, datetime]) -> Page:
    body = "".join(f"<url><loc>{url}</loc><lastmod>{at.isoformat()}</lastmod></url>" for url, at in entries)
    return Page(f"<urlset>{body}</urlset>".encode(), headers={"Content-Type": "application/xml"})


@pytest.fixture
def terms(watch: Watch, site: LocalSite) -> Monitor:
    """A page that was checked two hours ago and is due tomorrow, on a site whose robots.txt names a sitemap."""
    site.pages["/robots.txt"] = Page(
        f"User-agent: *\nSitemap: {site.url('/map.xml')}\nSitemap: http://a.test/x\n".encode()
    )
    monitor = watch("/terms", PAGE)
    visit(monitor)
    now = timezone.now()
    Monitor.objects.update(
        interval_s=86_400, next_check_at=now + timedelta(days=0.9), last_checked_at=now - timedelta(hours=2)
    )
    monitor.refresh_from_db()
    return monitor


def test_the_sitemap_of_robots_txt_pulls_a_check_forward_and_its_word_is_counted(
    terms: Monitor, site: LocalSite
) -> None:
    now = timezone.now()
    site.pages["/map.xml"] = sitemap(
        (terms.url, now - timedelta(hours=1)), (site.url("/other"), now - timedelta(days=9))
    )
    (source,) = HintSource.objects.all()
    assert (source.url, hints.any_due(now=now)) == (site.url("/map.xml"), True)

    assert hints.poll(now=now) == 1

    terms.refresh_from_db()
    assert terms.next_check_at == now
    assert terms.plan_reason == "signal"
    source.refresh_from_db()
    assert (source.entries, source.problem, hints.any_due(now=now)) == (2, "", False)

    site.put("/terms", PAGE.replace("by the library", "by nobody from the first of May on"))
    assert visit(terms).outcome == "content"
    source.refresh_from_db()
    assert (source.hits, source.misses, Hint.objects.count()) == (1, 0, 0)


def test_a_hint_that_no_change_follows_counts_against_its_source(terms: Monitor, site: LocalSite) -> None:
    now = timezone.now()
    site.pages["/map.xml"] = sitemap((terms.url, now - timedelta(hours=1)), ("http://a.test/", now - timedelta(days=9)))
    hints.poll(now=now)

    assert visit(terms).outcome == "none"

    assert HintSource.objects.values_list("hits", "misses").get() == (0, 1)


@pytest.mark.parametrize(
    ("age", "planned", "misses"),
    [
        (timedelta(hours=3), timedelta(days=0.9), 0),  # the last check saw it
        (timedelta(hours=1), timedelta(minutes=20), 0),  # due anyway
        (timedelta(hours=1), timedelta(days=0.9), 60),  # not believed any more
        (timedelta(seconds=-7200), timedelta(days=0.9), 0),  # in the future
    ],
)
def test_a_hint_that_is_not_worth_it_changes_nothing(
    terms: Monitor, site: LocalSite, age: timedelta, planned: timedelta, misses: int
) -> None:
    now = timezone.now()
    Monitor.objects.update(next_check_at=now + planned)
    HintSource.objects.update(misses=misses)
    site.pages["/map.xml"] = sitemap((terms.url, now - age), ("http://a.test/", now - timedelta(days=9)))

    assert hints.poll(now=now) == 0

    terms.refresh_from_db()
    assert (terms.next_check_at, Hint.objects.count()) == (now + planned, 0)


def test_a_hint_respects_the_least_interval(terms: Monitor, site: LocalSite) -> None:
    now = timezone.now()
    Monitor.objects.update(min_interval_s=3 * 3600, max_interval_s=604_800)
    site.pages["/map.xml"] = sitemap((terms.url, now - timedelta(hours=1)), ("http://a.test/", now - timedelta(days=9)))

    assert hints.poll(now=now) == 1

    terms.refresh_from_db()
    assert terms.next_check_at is not None
    assert abs(terms.next_check_at - now - timedelta(hours=1)) < timedelta(seconds=5)


def test_an_index_is_followed_within_the_site(terms: Monitor, site: LocalSite) -> None:
    now = timezone.now()
    maps = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in (site.url("/one.xml"), "http://a.test/two.xml"))
    site.pages["/map.xml"] = Page(f"<sitemapindex>{maps}</sitemapindex>".encode())
    site.pages["/one.xml"] = sitemap((terms.url, now - timedelta(hours=1)), ("http://a.test/", now - timedelta(days=9)))

    assert hints.poll(now=now) == 1


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (Page(b"<html>no</html>"), "lists no pages"),
        (Page(b"", status=404), "status 404"),
        (Page(b"<!DOCTYPE x><urlset/>"), "document type"),
    ],
)
def test_a_source_that_cannot_be_read_says_why_and_waits(
    terms: Monitor, site: LocalSite, page: Page, said: str
) -> None:
    site.pages["/map.xml"] = page
    now = timezone.now()

    assert hints.poll(now=now) == 0

    source = HintSource.objects.get()
    assert said in source.problem
    assert source.next_at == now + hints.AGAIN_AFTER_TROUBLE


def test_a_site_chooses_its_source_or_none(terms: Monitor, site: LocalSite) -> None:
    ada, now, host = make_user("ada", role="admin"), timezone.now(), terms.site

    with pytest.raises(ValidationError, match="not on"):
        monitors.change_site(host, {"hint_url": "https://other.example/feed"}, actor=ada, now=now)
    host.refresh_from_db()
    monitors.change_site(host, {"hint_url": site.url("/feed")}, actor=ada, now=now)
    assert list(HintSource.objects.values_list("url", flat=True)) == [site.url("/feed")]
    monitors.change_site(host, {"use_hints": False}, actor=ada, now=now)
    assert not HintSource.objects.exists()
    monitors.change_site(host, {"use_hints": True, "hint_url": ""}, actor=ada, now=now)
    assert list(HintSource.objects.values_list("url", flat=True)) == [site.url("/map.xml")]


def test_the_sites_page_shows_what_it_says_and_takes_a_policy_with_its_reason(
    client: Any, terms: Monitor, site: LocalSite
) -> None:
    client.force_login(make_user("root", role="admin", is_superuser=True))
    address = reverse("admin:monitoring_site_change", args=[terms.site_id])
    shown = client.get(address).content.decode()
    assert site.url("/map.xml") in shown
    form = {
        "name": "Local",
        "gap_s": "0",
        "robots_policy": "ignore",
        "robots_reason": "",
        "use_hints": "on",
        "hint_url": "",
    }

    assert "Say why" in client.post(address, form).content.decode()
    assert client.post(address, form | {"robots_reason": "Our own"}).status_code == 302

    host = Site.objects.get(pk=terms.site_id)
    assert (host.robots_policy, host.robots_reason) == ("ignore", "Our own")
    assert "Our own" in client.get(address).content.decode()


def test_an_index_of_a_slow_site_takes_no_longer_than_its_turn(terms: Monitor, site: LocalSite) -> None:
    maps = "".join(f"<sitemap><loc>{site.url(f'/{n}.xml')}</loc></sitemap>" for n in range(5))
    site.pages["/map.xml"] = Page(f"<sitemapindex>{maps}</sitemapindex>".encode())
    Site.objects.update(gap_s=60.0)

    assert hints.poll(now=timezone.now(), budget_s=2.0) == 0

    assert (site.visits["/map.xml"], site.visits["/0.xml"]) == (1, 0)
