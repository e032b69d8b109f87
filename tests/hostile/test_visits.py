"""Every case of the shared catalogue's transport, content, encoding and url areas, through the whole pipeline.

Each is visited twice by a monitor that has a baseline; twenty honest monitors are visited in the same batch. A process
of its own does the work, so that memory is its own peak. Words of the catalogue are mapped as `fits` says; where it and
this product differ, `DIFFERS` says why.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from django.core.exceptions import ValidationError

from monitoring.services import monitors
from tests import tables
from tests.hostile import chain, visits
from tests.hostile.serving import is_greedy, served_apart
from tests.hostile.visits import Job, Report, Seen
from tests.monitoring.site import LocalSite

MOST_MB = 300
# An honest page that had to wait for an endless one would be recorded after that one's deadline.
ON_TIME_S = (
    2 * visits.DEADLINE_S
)  # before the slow ones have had theirs twice; the machine may be busy with other tests

REFUSED = "error:refused-by-policy"
REDIRECT = "error:redirect-refused"

TRANSPORT = {
    "slow_headers": "error:timeout",
    "slow_body_1B_per_500ms": "error:timeout",
    "endless_chunked": "error:too-large",
    "endless_trailers": "error:too-large",
    "huge_chunk_extension": "error",
    "million_headers": "error:too-large",
    "huge_cookie_8MB": "error:too-large",
    "many_cookies": "content|error:type-changed",
    "http09": "error:protocol",
    "bad_status_099": "error:protocol",
    "endless_1xx": "error:too-large",
    "content_length_too_long": "error:protocol",
    "content_length_too_short": "error:protocol",
    "content_length_conflict": "error:protocol",
    "content_length_negative": "error:protocol",
    "content_length_999TB": "error:too-large",
    "cl_and_te_smuggle": "error:protocol",
    "reset_mid_body": "error:protocol",
    "reset_mid_chunked": "error:protocol",
    "close_delimited_cut": "error:truncated",
    "accept_then_silence": "error:timeout",
    "close_at_once": "error:protocol",
    "304_without_conditional": "error:protocol",
    "204_no_content": "error:status-error",
    "206_unasked": "error:protocol",
    "multipart_push": "error:unsupported-type",
    "gzip_truncated": "error:encoding",
    "gzip_header_lies": "error:encoding",
    "gzip_trailing_garbage": "content",
    "unknown_content_encoding": "error:encoding",
    "64_nested_encodings": "error:encoding",
    "obs_fold_header": "content|error:type-changed",
    "header_nul": "error:protocol",
    "header_non_ascii_validators": "content|error:type-changed",
    "gzip_bomb_512MB_in_0.5MB": "error:too-large",
    "gzip_gzip_bomb_980B": "error:too-large",
    "brotli_bomb_809B": "error:too-large",
    "zstd_bomb_16kB": "error:too-large",
    "redirect_self_loop": "error:too-many-redirects",
    "redirect_ping_pong": "error:too-many-redirects",
    "redirect_ping_pong2": "error:too-many-redirects",
    "redirect_growing_query": REDIRECT,
    "redirect_no_location": "error:protocol",
    "redirect_metadata": REDIRECT,
    "redirect_loopback": REDIRECT,
    "redirect_decimal": REDIRECT,
    "redirect_mapped_v6": REDIRECT,
    "redirect_file": REDIRECT,
    "redirect_gopher": REDIRECT,
    "redirect_javascript": REDIRECT,
    "redirect_data": REDIRECT,
    "redirect_port_6379": REDIRECT,
    "redirect_crlf": "error:dns",
    "redirect_userinfo": REDIRECT,
    "redirect_other_host_with_auth": REDIRECT,
    "redirect_https_to_http": "error:dns",
    "refresh_header_private": "content",
    "tls_self_signed": "error:tls",
    "tls_wrong_name": "error:tls",
    "tls_expired": "error:tls",
    "tls_plaintext_on_443": "error:tls",
    "tls_close_in_handshake": "error",
}
TLS_SAYS = {"tls_self_signed": "signed by itself", "tls_wrong_name": "is for another", "tls_expired": "has expired"}

CONTENT = {
    "empty_200": "blocked:empty-body",
    "whitespace_only": "blocked:empty-body",
    "larger_than_limit_20MB": "error:too-large",
    "access_denied_200": "blocked:access-denied",
    "captcha_200": "blocked:human-check",
    "soft_404_200": "gone:soft-404",
    "login_wall_200": "blocked:login-wall",
    "maintenance_503": "error:maintenance",
    "retry_after_garbage": "blocked:rate-limited",
    "pdf": "content|error",
    "pdf_as_html": "content|error",
    "png_as_html": "content|error",
    "html_as_octet_stream": "content|error",
    "svg_script": "content|error",
    "xml_billion_laughs": "error",
    "xml_xxe_file": "error",
    "xml_external_dtd": "content|error",
    "meta_refresh_private": "content",
    "base_href_hijack": "content",
    "nesting_254": "content",
    "nesting_300_lxml_drops_rest": "content",
    "nesting_5000": "blocked:text-missing",
    "nesting_100000": "blocked:text-missing",
    "unclosed_tags_200k": "blocked:empty-text",
    "misnested_formatting": "error:truncated",
    "million_siblings": "content",
    "attr_10MB": "content",
    "100k_attributes": "blocked:text-missing",
    "tag_name_1MB": "content",
    "unterminated_comment": "content",
    "unterminated_script": "content",
    "unterminated_entity_1M": "content",
    "numeric_entity_flood": "content",
    "incomplete_entities_nested": "content",
    "plaintext_swallow": "content",
    "select_table_foster": "content",
    "mxss_namespace": "blocked:empty-text",
    "css_selector_bomb": "content",
}

ENCODING = dict.fromkeys(
    [
        *(
            f"enc_{charset}_{how}"
            for charset in ("shift_jis", "euc-jp", "iso-2022-jp")
            for how in ("meta_only", "header_says_utf8", "undeclared")
        ),
        "enc_gb2312_label_gb18030_bytes", "enc_big5_hkscs", "enc_latin1_label_cp1252_bytes", "enc_utf7_header",
        "enc_unicode_escape_header", "enc_rot13_header_crashes_httpx_text", "enc_zlib_header_crashes_httpx_text",
        "enc_charset_1MB", "enc_duplicate_charset", "enc_bom_beats_header", "enc_utf16le_bom",
        "enc_meta_after_1024_bytes", "enc_two_metas", "enc_mixed_bytes", "enc_invalid_utf8_overlong",
        "enc_cesu_surrogates", "enc_ncr_surrogate_nul_big", "enc_nul_bytes",
    ],
    "content",
) | {
    "enc_nul_in_charset_label": "error:protocol",
    "enc_utf32_bom": "error:mojibake",
    "enc_charset_flip_flop": "none|noise|error",
    "enc_normalisation_only": "none|noise",
}  # fmt: skip

# By number: what stands between the address and a connection. The last two must merely stay as they are.
URL = dict.fromkeys(range(57), REFUSED) | {57: "error:dns"}
TOO_LONG_TO_STORE = 48

AREAS: dict[str, dict[str, str]] = {"transport": TRANSPORT, "content": CONTENT, "encoding": ENCODING}

# Where the catalogue asks for something else, and why this product answers as it does.
DIFFERS = {
    "close_delimited_cut": "told as truncated at once: a part of a page is never compared, so nothing waits for a second fetch",
    "204_no_content": "an error by its status, as every answer without a page; it never becomes a baseline",
    "retry_after_garbage": "a 429 is `blocked`, the outcome for sites that refuse us; the garbage is passed over",
    "redirect_https_to_http": "the catalogue's server speaks no TLS, and its target is a name nobody answers for here; "
    "that each hop is kept with the snapshot is tested beside the fetcher",
    "unclosed_tags_200k": "200,000 tags without a word hold no text: suspect, within the time",
    "mxss_namespace": "it holds nothing but markup: suspect, and inert wherever it is shown",
    "nesting_5000": "read whole, at little cost; beside a page of twelve clauses its two words are a page whose text is missing",
    "nesting_100000": "the same",
    "100k_attributes": "the same",
    "xml_external_dtd": "the page before was another one: that is the change; the DTD is fetched by nobody",
    "enc_nul_in_charset_label": "a NUL in a header is no HTTP, as the case allows",
    "gzip_trailing_garbage": "the page before was another one: what follows the stream is passed over, and the same twice",
    "many_cookies": "two letters without a type are plain text where a page was: a type flip is told and is no change",
    "obs_fold_header": "the same; the folded header is read as one line",
    "header_non_ascii_validators": "the same; that no bad validator is sent back is tested beside the fetcher",
}


def fits(verdict: str, seen: Seen) -> bool:
    """Whether what was recorded is what a word of the catalogue means here."""
    outcomes = {outcome for outcome, _ in seen.verdicts[:1]}
    reasons = {reason for _, reason in seen.verdicts}
    match verdict:
        case "CHANGE":
            return outcomes == {"content"} and seen.changes == 1
        case "NOCHANGE":
            return outcomes <= {"none", "noise", "error"}
        case "FLAG":
            return outcomes <= {"content", "error"}
        case "ERROR":
            return outcomes == {"error"}
        case "BLOCKED":
            return reasons <= {"refused-by-policy", "redirect-refused"}
        case "LIMIT":  # cut off, or read whole within the budget
            return outcomes <= {"error", "content"}
        case "SUSPECT":
            return outcomes <= {"blocked", "gone"}
        case "UNSUPPORTED":  # not taken, or compared by its digest
            return outcomes <= {"error", "content"}
        case _:
            return verdict == "INERT"


# --- running ----------------------------------------------------------------------------------------------------

LONG = (
    "<!doctype html><html lang=en><head><title>Terms</title></head><body><main><h1>Terms</h1>"
    + "".join(
        f"<p>Clause {n} says how the library of Halden keeps record {n} of a loan, and how long.</p>" for n in range(12)
    )
    + "</main></body></html>"
)
SHORT = "<p>The fee was 12 euros a year before.</p>"
# Beside a whole page nearly all hostile ones are merely too short: these are compared with one of their own size.
BESIDE_SHORT = {"CHANGE", "NOCHANGE", "FLAG", "INERT", "UNSUPPORTED"}
HONEST = 20


def _catalogue() -> list[Any]:
    module = chain.load(bomb_mb=64)
    if module is None:
        pytest.skip("the shared catalogue is not beside this checkout")
    return list(module.cases())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """The report on an area; worked once, also where several processes share the tests of this module."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    known: dict[str, Report] = {}

    def of(area: str) -> Report:
        if area not in known:
            with (folder / f"hostile-{area}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                path = folder / f"hostile-{area}.json"
                if not path.exists():
                    path.write_text(json.dumps(_run(area, folder)), encoding="utf-8")
            raw = json.loads(path.read_text(encoding="utf-8"))
            seen = {
                name: Seen(**value | {"verdicts": [tuple(v) for v in value["verdicts"]]})
                for name, value in raw.pop("seen").items()
            }
            known[area] = Report(seen=seen, **raw)
        return known[area]

    return of


def _run(area: str, folder: Path) -> dict[str, Any]:
    """Serve an area's cases and let a process of its own visit them."""
    cases = [case for case in _catalogue() if case.area == area]
    server: Any = sys.modules["hostile_catalogue"].HostileServer(max_seconds=visits.ROOMY_S)
    site, authority = LocalSite(), trustme.CA()
    with ExitStack() as stack:
        stack.callback(server.close)
        stack.callback(site.close)
        apart = stack.enter_context(served_apart(visits.ROOMY_S))
        faults = {c.name: stack.enter_context(_tls_fault(c.name, authority)) for c in cases if c.kind == "tls"}
        addresses = {
            case.name: case.payload
            if area == "url"
            else f"https://127.0.0.1:{faults[case.name]}/"
            if case.kind == "tls"
            else f"http://127.0.0.1:{apart if is_greedy(case.name) else server.port}/case/{case.name}"
            for case in cases
        }
        listed = []
        for number, case in enumerate(cases):
            before = f"/{'short' if case.verdict in BESIDE_SHORT else 'long'}?{number}"
            site.put(before, SHORT if before.startswith("/short") else LONG)
            first = addresses[case.name] if case.kind == "pair" else site.url(before)
            if len(addresses[case.name]) <= 2000:
                listed.append((case.name, addresses[case.name], first))
        for number in range(HONEST):
            site.put(f"/honest/{number}", LONG)
        job = Job(
            cases=listed,
            honest=[site.url(f"/honest/{number}") for number in range(HONEST)],
            authority=authority.cert_pem.bytes().decode("ascii"),
        )
        own = folder / f"hostile-{area}"
        own.mkdir(exist_ok=True)  # whoever was at it before may have been killed
        ports = [server.port, apart, *faults.values()]
        environment = visits.environment(own, [site.address, *(f"127.0.0.1:{port}" for port in ports)])
        tables.fill(f"sqlite://{own}/db.sqlite3", environment)
        done = subprocess.run(
            [sys.executable, "-m", "tests.hostile.visits"],
            cwd=chain.ROOT, env=environment, input=json.dumps(asdict(job)), capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def _tls_fault(name: str, authority: trustme.CA) -> Iterator[int]:
    """A port of loopback whose TLS has the named fault."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    yesterday = datetime.now(UTC) - timedelta(days=1)
    match name:
        case "tls_wrong_name":
            authority.issue_cert("other.example").configure_cert(context)
        case "tls_expired":
            long_ago = yesterday - timedelta(days=30)
            authority.issue_cert("127.0.0.1", not_before=long_ago, not_after=yesterday).configure_cert(context)
        case "tls_self_signed":
            _self_signed(context)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            with accepted, suppress(OSError):
                accepted.settimeout(2)
                if name == "tls_plaintext_on_443":
                    accepted.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                    accepted.recv(4096)
                elif name == "tls_close_in_handshake":
                    accepted.recv(4096)
                else:
                    with context.wrap_socket(accepted, server_side=True) as secure:
                        secure.recv(4096)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(timeout=3)


def _self_signed(context: ssl.SSLContext) -> None:
    """A certificate that is its own authority."""
    from ipaddress import ip_address
    from tempfile import NamedTemporaryFile

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "halden.example")])
    today = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    built = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), today, today + timedelta(days=9)
    )
    certificate = built.add_extension(names, critical=False).sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with NamedTemporaryFile() as file:
        file.write(private + certificate.public_bytes(serialization.Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name)


# --- the cases --------------------------------------------------------------------------------------------------


def as_table(expected: str, verdict: tuple[str, str]) -> bool:
    """Whether `outcome:reason` is one of those in a row of the tables; a row without a reason takes any."""
    outcome, reason = verdict
    return any(row in (outcome, f"{outcome}:{reason}") for row in expected.split("|"))


def check(case: Any, expected: str, seen: Seen) -> None:
    """One case: as the table says, as the catalogue means, in time, the same twice, the baseline as it was."""
    assert len(seen.verdicts) == 2, seen
    assert as_table(expected, seen.verdicts[0]), (case.expect, seen)
    if case.name not in DIFFERS:
        assert fits(case.verdict, seen), (case.expect, seen)
    assert seen.ms <= (2 + (visits.DEADLINE_S if case.name in visits.ENDLESS else visits.ROOMY_S)) * 1000
    if seen.verdicts[0][0] == "content":
        assert seen.verdicts[1][0] in ("none", "noise"), seen
        assert seen.changes == 1
    else:
        assert seen.verdicts[1] == seen.verdicts[0], seen
        assert (seen.kept, seen.changes) == (True, 0), seen


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    """The catalogue's cases by name."""
    return {case.name: case for case in _catalogue()}


@pytest.mark.parametrize("name", TRANSPORT)
def test_transport(name: str, cases: dict[str, Any], report: Callable[[str], Report]) -> None:
    seen = report("transport").seen[name]

    check(cases[name], TRANSPORT[name], seen)

    assert TLS_SAYS.get(name, "") in seen.sentence


@pytest.mark.parametrize("name", CONTENT)
def test_content(name: str, cases: dict[str, Any], report: Callable[[str], Report]) -> None:
    check(cases[name], CONTENT[name], report("content").seen[name])


@pytest.mark.parametrize("name", ENCODING)
def test_encoding(name: str, cases: dict[str, Any], report: Callable[[str], Report]) -> None:
    check(cases[name], ENCODING[name], report("encoding").seen[name])


@pytest.mark.parametrize("number", URL)
def test_url(number: int, cases: dict[str, Any], report: Callable[[str], Report], settings: Any) -> None:
    """Refused where it is typed in, without any lookup, and, should it be stored all the same, when it is visited."""
    settings.ALLOWED_HOSTS = ["our-own-host.example"]
    case = next(case for case in cases.values() if case.name.startswith(f"url_{number:02d}_"))

    # A name is judged when it is looked up, and white space around what a person pastes is taken off.
    if case.verdict == "BLOCKED" and not case.payload.endswith((".nip.io/", ".test/")) and case.payload[0] != " ":
        with pytest.raises(ValidationError):
            monitors.canonical_url(case.payload)
    if number != TOO_LONG_TO_STORE:
        check(case, URL[number], report("url").seen[case.name])


# --- the whole --------------------------------------------------------------------------------------------------


def test_the_tables_hold_the_whole_catalogue(cases: dict[str, Any]) -> None:
    for area, table in AREAS.items():
        assert {case.name for case in cases.values() if case.area == area} == set(table)
    assert len([case for case in cases.values() if case.area == "url"]) == len(URL)
    assert set(DIFFERS) <= set(cases)


@pytest.mark.parametrize("area", [*AREAS, "url"])
def test_an_area_takes_little_memory_and_leaves_the_machine_alone(area: str, report: Callable[[str], Report]) -> None:
    found = report(area)

    assert found.peak_mb <= MOST_MB
    assert found.strayed == []


@pytest.mark.parametrize("area", [*AREAS, "url"])
def test_twenty_honest_monitors_are_on_time_beside_them(area: str, report: Callable[[str], Report]) -> None:
    found = report(area)

    assert found.honest_outcomes == ["none"] * HONEST
    assert max(found.honest) <= ON_TIME_S


def test_a_name_is_looked_up_once_a_visit(report: Callable[[str], Report]) -> None:
    assert report("url").lookups["rebind.test"] == 2
