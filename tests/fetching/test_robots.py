"""robots.txt: which rule decides, and that no file costs much."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring.fetching.robots import MAX_CRAWL_DELAY_S, parse


def allowed(text: str, path: str, product: str = "Tideline") -> bool:
    return parse(text, product).allows(path)


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("Disallow: /", "/", False),
        ("Disallow:", "/x", True),
        ("Disallow: /fish", "/fish.html", False),
        ("Disallow: /fish", "/Fish", True),
        ("Disallow: /fish/", "/fish", True),
        ("Disallow: /*.php", "/dir/page.php?x=1", False),
        ("Disallow: /*.php$", "/dir/page.php?x=1", True),
        ("Disallow: /*.php$", "/dir/page.php", False),
        ("Disallow: /fish*.php", "/fishheads/catfish.php?id=1", False),
        ("Disallow: /a*b*c", "/axbxxc", False),
        ("Disallow: /a*b*c", "/axcxxb", True),
        ("Allow: /p\nDisallow: /", "/page", True),
        ("Disallow: /\nAllow: /p", "/page", True),
        ("Allow: /page\nDisallow: /page", "/page", True),  # a tie: allow wins
        ("Allow: /folder\nDisallow: /folder/secret", "/folder/secret/x", False),
        ("Allow: /$\nDisallow: /", "/", True),
        ("Allow: /$\nDisallow: /", "/page.htm", False),
        ("Allow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("Disallow: /caf%C3%A9", "/café", False),
        ("Disallow: /café", "/caf%c3%a9", False),
        ("Disallow: /%7Euser", "/~user", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        ("Disallow: /?q=", "/?q=1", False),
        ("Disallow: relative", "/relative", True),
        ("disallow : /x # why", "/x", False),
        ("Disallow: /robots.txt\nDisallow: /", "/robots.txt", True),
        ("Noindex: /x", "/x", True),
    ],
)
def test_the_longest_matching_rule_decides(rules: str, path: str, expected: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}\n", path) is expected


GROUPS = """\ufeffUser-agent: other
User-agent: TIDELINE/2.0
Disallow: /a
Crawl-delay: 4

User-agent: *
Disallow: /

User-agent: tideline
Disallow: /b
Sitemap: https://example.org/map.xml
"""


def test_groups_that_name_the_product_count_together_and_instead_of_everybodys() -> None:
    found = parse(GROUPS, "Tideline")

    assert [rule.text for rule in found.rules] == ["Disallow: /a", "Disallow: /b"]
    assert (found.crawl_delay_s, found.named, found.sitemaps) == (4.0, True, ("https://example.org/map.xml",))
    assert not parse(GROUPS, "Somebody").allows("/c")


@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n"])
def test_any_line_end_is_one(ends: str) -> None:
    assert not allowed(ends.join(["User-agent: *", "Disallow: /x"]), "/x")


@pytest.mark.parametrize(
    ("value", "seconds"), [("5", 5.0), ("0.5", 0.5), ("999999", MAX_CRAWL_DELAY_S), ("soon", None), ("-1", None)]
)
def test_a_crawl_delay_is_a_number_within_a_minute(value: str, seconds: float | None) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}", "Tideline").crawl_delay_s == seconds


def test_rules_without_a_group_are_nobodys() -> None:
    assert allowed("Disallow: /\nUser-agent: *\n", "/x")


@pytest.mark.parametrize("body", [b"", b"<html>not found</html>", b"\0\xff\xfe" * 100, b"User-agent\n:::\n#"])
def test_what_is_no_robots_file_forbids_nothing(body: bytes) -> None:
    assert parse(body, "Tideline").allows("/anything")


def test_hostile_patterns_cost_little() -> None:
    lines = "\n".join(f"Disallow: /{'*a' * 900}{n}$" for n in range(250))
    began = time.process_time()

    found = parse(f"User-agent: *\n{lines}\n", "Tideline")
    assert found.allows("/" + "a" * 8000)

    assert time.process_time() - began < 2.0


def test_what_lies_beyond_the_bound_is_not_read() -> None:
    body = b"User-agent: *\nDisallow: /a\n" + b"#" * (500 * 1024) + b"\nDisallow: /b\n"

    assert [rule.pattern for rule in parse(body, "Tideline").rules] == ["/a"]


@given(st.binary(max_size=300), st.text(max_size=60))
def test_no_file_and_no_path_raise(body: bytes, path: str) -> None:
    parse(body, "Tideline").allows("/" + path)


@given(
    st.lists(st.sampled_from(["/a", "/a*", "/*b$", "/a/b", "/", "/ab$", "/*"]), max_size=6), st.text("ab/", max_size=6)
)
def test_the_order_of_rules_does_not_matter(patterns: list[str], path: str) -> None:
    lines = [f"{'Allow' if n % 2 else 'Disallow'}: {pattern}" for n, pattern in enumerate(patterns)]

    forward, backward = ("User-agent: *\n" + "\n".join(order) for order in (lines, lines[::-1]))

    assert allowed(forward, "/" + path) == allowed(backward, "/" + path)
