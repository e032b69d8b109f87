"""`manage.py fetch`: the whole story of one fetch, without its secrets."""

from __future__ import annotations

import gzip
import io

import pytest
from django.core.management import CommandError, call_command

from monitoring.models import Check, Site, Vantage
from tests.monitoring.site import LocalSite, Page

pytestmark = pytest.mark.django_db

PAGE = (
    "<title>Terms</title><main><h1>Terms</h1>" + "<p>The library of Halden keeps records of loans.</p>" * 9 + "</main>"
)


def told(*arguments: str) -> tuple[int, str]:
    """How the command ended, and what it said."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("fetch", *arguments, stdout=out)
    assert isinstance(ended.value.code, int)
    return ended.value.code, out.getvalue()


def test_a_good_page_is_told_from_address_to_verdict(site: LocalSite) -> None:
    body = gzip.compress(PAGE.encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/html; charset=utf-8", "Set-Cookie": "s=hunter2"}
    site.pages["/a"] = Page(body, headers=headers)
    site.put("/old", "", status=301, Location="/a")

    code, said = told(site.url("/old"), "--explain")

    assert code == 0
    for expected in (
        "allowed",
        "robots.txt answers 404: nothing is forbidden",
        "lookup   ",
        "connected to 127.0.0.1",
        f"{len(body)} bytes sent as gzip",
        f"{len(PAGE)} bytes decoded",
        "hop        301",
        "utf-8, known from the Content-Type header",
        "a good page",
        "Set-Cookie: (9 characters, not shown)",
    ):
        assert expected in said, said
    assert "hunter2" not in said
    assert " tls " not in said  # there is none on plain http
    assert not Check.objects.exists()


def test_a_robots_txt_that_fails_is_told_with_what_follows(site: LocalSite) -> None:
    site.put("/a", PAGE)
    site.put("/robots.txt", "", status=503)

    code, said = told(site.url("/a"))

    assert code == 0
    assert "robots.txt answers 503: the last copy counts; without one it forbids every page after a day" in said


def test_what_robots_txt_forbids_is_not_fetched_unless_it_is_wanted(site: LocalSite) -> None:
    site.put("/private", PAGE)
    site.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private\nCrawl-delay: 3")

    code, said = told(site.url("/private"), "--explain")
    assert (code, site.visits["/private"]) == (6, 0)
    assert "FORBIDDEN, decided by “Disallow: /private” (rules for everybody; policy here: obey)" in said
    assert "Crawl-delay 3 s" in said

    assert told(site.url("/private"), "--anyway")[0] == 0
    Site.objects.create(name="Local", host=site.address, robots_policy="ignore", robots_reason="Ours")
    assert told(site.url("/private"))[0] == 0


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://10.0.0.1/", "refused (address)"),
        ("http://user:hunter2@example.com/", "refused (userinfo)"),
        ("ftp://example.com/", "refused (scheme)"),
    ],
)
def test_a_refused_address_ends_before_anything_is_asked(url: str, said: str) -> None:
    code, story = told(url)

    assert code == 3
    assert said in story
    assert "hunter2" not in story


def test_the_other_ends_have_codes_of_their_own(site: LocalSite) -> None:
    site.put("/gone", "<h1>Not found</h1>", status=404)
    site.put("/inside", "", status=302, Location="http://169.254.169.254/")
    site.pages["/broken"] = Page(b"no gzip", headers={"Content-Encoding": "gzip"})

    assert told(site.url("/gone"))[0] == 5
    assert told(site.url("/inside"))[0] == 3
    assert told(site.url("/broken"))[0] == 4


def test_a_vantages_proxy_is_told_without_its_password(site: LocalSite) -> None:
    Vantage.objects.create(name="Bergen", proxy_url="http://me:hunter2@127.0.0.1:9")

    code, said = told(site.url("/a"), "--vantage", "Bergen")

    assert code in (3, 4)
    assert "me:••••••@127.0.0.1:9" in said
    assert "hunter2" not in said


def test_an_unknown_vantage_is_named_with_those_there_are() -> None:
    Vantage.objects.create(name="Bergen")

    with pytest.raises(CommandError, match="no vantage 'Oslo'; there are: Bergen"):
        call_command("fetch", "https://a.example/", "--vantage", "Oslo")
