"""Which URLs and addresses are fetched, and how a URL is spelt afterwards."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from monitoring.fetching.capture import Exemption
from monitoring.fetching.errors import Refused
from monitoring.fetching.guard import AddressPolicy, check_url, is_exempt, parse, vet

PUBLIC = AddressPolicy(own_hosts=frozenset({"tideline.example"}), own_addresses=frozenset({"93.184.216.99"}))


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTP://Example.COM:80/a/../b?q=é", "http://example.com/b?q=%C3%A9"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com./x", "http://example.com/x"),
        ("https://münchen.example/weg", "https://xn--mnchen-3ya.example/weg"),
        ("https://例え.テスト/", "https://xn--r8jz45g.xn--zckzah/"),
        ("https://example.com/a%2fb%20c", "https://example.com/a%2fb%20c"),
        ("https://example.com/a/./b/%2e%2e/c", "https://example.com/a/c"),
        ("https://example.com/100%", "https://example.com/100%25"),
        ("https://example.com/?a=b&c=%d0#part", "https://example.com/?a=b&c=%d0#part"),
        ("https://example.com/${jndi:ldap://x}", "https://example.com/$%7Bjndi:ldap://x%7D"),
        ("https://my_shop.example.com/", "https://my_shop.example.com/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://134744072/", "http://8.8.8.8/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
    ],
)
def test_a_public_url_gets_one_spelling(url: str, canonical: str) -> None:
    assert check_url(url, PUBLIC) == canonical


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "scheme"),
        ("example.com", "scheme"),
        ("//example.com/", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("view-source:http://example.com/", "scheme"),
        ("http:example.com", "host"),
        ("http:///x", "host"),
        ("http://user@example.com/", "userinfo"),
        ("http://user:pw@example.com/", "userinfo"),
        ("http://example.com\\@127.0.0.1/", "characters"),
        ("http://127.0.0.1:80\\@example.com/", "characters"),
        (" http://example.com/", "characters"),
        ("http://exam\tple.com/", "characters"),
        ("http://example.com/\r\nX: 1", "characters"),
        ("http://example.com/\x00", "characters"),
        ("http://example.com/\u2028", "characters"),
        ("http://example.com/\ud800", "characters"),
        ("http://example.com:22/", "port"),
        ("http://example.com:0/", "port"),
        ("http://example.com:99999/", "port"),
        ("http://example.com:8o/", "port"),
        ("http://example.com:８０/", "port"),
        ("http://example.com/" + "a" * 9000, "length"),
        ("http://" + "a" * 64 + ".com/", "host"),
        ("http://" + "a." * 130 + "com/", "host"),
        ("http://exa mple.com/", "characters"),
        ("http://ex%61mple.com/", "host"),
        ("http://-example.com/", "host"),
        ("http://example..com/", "host"),
        ("http://xn--a/", "host"),
        ("http://{{x}}.example/", "host"),
        ("http://[fe80::1%25eth0]/", "host"),
        ("http://[::1/", "host"),
        ("http://1.2.3.4.5/", "host"),
        ("http://256.1.1.1/", "host"),
        ("http://09.1.1.1/", "host"),
        ("http://example.99/", "host"),
        ("http://localhost/", "local-name"),
        ("http://localhost./", "local-name"),
        ("http://a.localhost/", "local-name"),
        ("http://redis/", "local-name"),
        ("http://metadata.google.internal/", "local-name"),
        ("http://printer.local/", "local-name"),
        ("http://tideline.example/", "own-host"),
        ("http://TIDELINE.example./admin", "own-host"),
        ("http://127.0.0.1/", "address"),
        ("http://127.1/", "address"),
        ("http://0/", "address"),
        ("http://0x7f000001/", "address"),
        ("http://0x7f.1/", "address"),
        ("http://2130706433/", "address"),
        ("http://0177.0.0.1/", "address"),
        ("http://127。0。0。1/", "address"),
        ("http://①②⑦.⓪.⓪.①/", "address"),
        ("http://[::1]/", "address"),
        ("http://[::]/", "address"),
        ("http://[::ffff:127.0.0.1]/", "address"),
        ("http://[::ffff:10.0.0.1]/", "address"),
        ("http://93.184.216.99/", "address"),
    ],
)
def test_a_url_is_refused_by_the_right_rule(url: str, code: str) -> None:
    with pytest.raises(Refused) as caught:
        check_url(url, PUBLIC)

    assert caught.value.code == code
    assert caught.value.sentence.endswith(".")


def test_a_refusal_does_not_repeat_a_password() -> None:
    with pytest.raises(Refused) as caught:
        check_url("http://someone:hunter2@example.com/", PUBLIC)

    assert "hunter2" not in caught.value.sentence


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.0.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1::808:808", "100::1", "2001::1", "2001:db8::1",
        "2002:7f00:1::", "2002:808:808::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
        "fec0::1", "ff02::1", "4000::1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_objected_to(address: str) -> None:
    assert PUBLIC.objection(address, 80)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_a_public_address_is_not_objected_to(address: str) -> None:
    assert PUBLIC.objection(address, 80) == ""


def test_allow_is_for_one_address_and_port() -> None:
    policy = AddressPolicy(allow=frozenset({("127.0.0.1", 8000)}))

    assert policy.objection("127.0.0.1", 8000) == ""
    assert policy.objection("127.0.0.1", 8001)
    assert policy.objection("127.0.0.2", 8000)
    assert policy.objection("::ffff:127.0.0.1", 8000)


def test_extra_ports_open_a_port_and_nothing_else() -> None:
    policy = AddressPolicy(extra_ports=frozenset({8080}))

    assert check_url("http://example.com:8080/", policy) == "http://example.com:8080/"
    with pytest.raises(Refused):
        check_url("http://127.0.0.1:8080/", policy)


@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_every_wrapping_of_a_refused_ipv4_address_is_refused(value: int) -> None:
    plain = IPv4Address(value)
    if not PUBLIC.objection(plain, 80):
        return

    for base in ("::ffff:0:0", "64:ff9b::", "::"):
        assert PUBLIC.objection(IPv6Address(int(IPv6Address(base)) + value), 80)


@given(st.integers(min_value=0, max_value=2**128 - 1))
def test_only_global_unicast_ipv6_is_ever_let_through(value: int) -> None:
    address = IPv6Address(value)

    if not PUBLIC.objection(address, 80):
        assert address in ip_network("2000::/3") or address in ip_network("64:ff9b::/96") or address.ipv4_mapped


@given(
    st.from_regex(r"(https?|HTTP)://[a-zA-Z0-9.\-@:\[\]\\_%é。①]{1,30}(/[ -~é]{0,30})?", fullmatch=True),
)
def test_other_parsers_see_the_host_that_was_checked(url: str) -> None:
    try:
        target = vet(url, AddressPolicy())
    except Refused:
        return

    for host in (urlsplit(target.url).hostname, URL(target.url, encoded=True).raw_host, URL(target.url).raw_host):
        assert host == target.host
    assert (urlsplit(target.url).port or {"http": 80, "https": 443}[target.scheme]) == target.port
    assert check_url(target.url, AddressPolicy()) == target.url


OWN = Exemption(origin="http://127.0.0.1:8000", path_prefix="/sample/")


@pytest.mark.parametrize("path", ["/sample/", "/sample/a", "/sample", "/sample/../sample/b", "/sample/%61?x=/../admin"])
def test_the_products_own_pages_are_exempt(path: str) -> None:
    assert check_url("http://127.0.0.1:8000" + path, AddressPolicy(), exemption=OWN)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/",
        "http://127.0.0.1:8000/admin/",
        "http://127.0.0.1:8000/samples/",
        "http://127.0.0.1:8000/sample/../admin/",
        "http://127.0.0.1:8000/sample/%2e%2e/admin/",
        "http://127.0.0.1:8000/sample/%252e%252e/admin/",
        "http://127.0.0.1:8000/sample/..%2fadmin/",
        "http://127.0.0.1:8000/sample/..%252fadmin/",
        "http://127.0.0.1:8000/sample/..%5cadmin/",
        "http://127.0.0.1:8000/sample/%ff/../../admin",
        "http://127.0.0.1:8000/%00/sample/",
        "http://127.0.0.1:8001/sample/",
        "https://127.0.0.1:8000/sample/",
        "http://127.0.0.2:8000/sample/",
        "http://localhost:8000/sample/",
        "http://[::1]:8000/sample/",
    ],
)
def test_nothing_near_the_products_own_pages_is_exempt(url: str) -> None:
    with pytest.raises(Refused):
        check_url(url, AddressPolicy(), exemption=OWN)


def test_an_exemption_whose_prefix_is_everything_still_needs_the_origin() -> None:
    everything = Exemption(origin="http://127.0.0.1:8000", path_prefix="/")

    assert is_exempt(parse("http://127.0.0.1:8000/x"), everything)
    assert not is_exempt(parse("http://127.0.0.1:80/x"), everything)
