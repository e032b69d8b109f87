"""The shared catalogue of hostile inputs, where it is beside this checkout: transport, encodings and URLs."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from monitoring.fetching.capture import Capture, Failure, FetchRequest, Limits, Outcome
from monitoring.fetching.guard import AddressPolicy
from monitoring.fetching.http import fetch_many
from tests.fetching.server import response, serve

DEADLINE_S = 3.0
MAX_BYTES = 4 << 20
MAX_GROWTH_MB = 150
PUBLIC = "93.184.216.34"

# Verdict of the catalogue to what this fetcher may return for it; SUSPECT and CHANGE are judged after the fetch.
FAILS = {"LIMIT", "ERROR", "BLOCKED"}
EITHER = {"obs_fold_header", "cl_and_te_smuggle", "enc_nul_in_charset_label"}
# Errors that the judgement of a whole capture finds, not the fetch.
CAPTURED = {"maintenance_503", "retry_after_garbage", "multipart_push"}


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hostile() -> Iterator[Any]:  # a module that is not ours and has no types
    path = Path(__file__).resolve().parents[3] / "shared" / "hostile" / "hostile.py"
    if not path.is_file():
        pytest.skip("the shared catalogue is not beside this checkout")
    before = os.environ.get("HOSTILE_BOMB_MB")
    os.environ["HOSTILE_BOMB_MB"] = "8"
    spec = importlib.util.spec_from_file_location("hostile_catalogue", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]
    if before is None:
        del os.environ["HOSTILE_BOMB_MB"]
    else:
        os.environ["HOSTILE_BOMB_MB"] = before


@contextmanager
def catalogue_server(hostile: Any) -> Iterator[Any]:
    server = hostile.HostileServer(max_seconds=DEADLINE_S + 1)
    try:
        yield server
    finally:
        server.close()


async def no_names(host: str) -> list[str]:
    raise OSError(host)


def outcomes_of(server: Any, cases: list[Any]) -> dict[str, Outcome]:
    policy = AddressPolicy(allow=frozenset({("127.0.0.1", server.port)}))
    limits = Limits(total_s=DEADLINE_S, max_bytes=MAX_BYTES)
    requests = [
        FetchRequest(key=number, url=f"{server.url}/case/{case.name}", limits=limits)
        for number, case in enumerate(cases)
    ]

    async def run() -> dict[str, Outcome]:
        outcomes = fetch_many(requests, policy=policy, concurrency=8, per_host=8, lookup=no_names)
        return {cases[outcome.key].name: outcome async for outcome in outcomes}

    return asyncio.run(run())


def test_transport_faults_end_within_deadline_and_memory(hostile: Any) -> None:
    cases = [case for case in hostile.cases() if case.area == "transport" and case.kind == "wire"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with catalogue_server(hostile) as server:
        outcomes = outcomes_of(server, cases)

    assert set(outcomes) == {case.name for case in cases}
    assert max(outcome.duration_ms for outcome in outcomes.values()) < (DEADLINE_S + 2) * 1000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MAX_GROWTH_MB
    wrong = []
    for case in cases:
        outcome, name = outcomes[case.name], case.name
        if name in EITHER or name == "redirect_https_to_http":  # its target is a name that tests do not resolve
            continue
        fails = case.verdict in FAILS or (case.verdict == "UNSUPPORTED")
        if isinstance(outcome, Failure) != fails:
            wrong.append((name, case.expect, outcome))
        if case.verdict == "BLOCKED" and isinstance(outcome, Failure) and outcome.reason != "redirect-refused":
            wrong.append((name, case.expect, outcome))
    assert not wrong


def test_every_encoding_is_read_or_marked_and_read_the_same_twice(hostile: Any) -> None:
    cases = [case for case in hostile.cases() if case.area == "encoding" and case.kind == "body"]

    with catalogue_server(hostile) as server:
        first, second = outcomes_of(server, cases), outcomes_of(server, cases)

    japanese = "規約が変更されました。料金は月額１２００円です。"
    for case in cases:
        outcome = first[case.name]
        if case.name in EITHER:
            continue
        assert isinstance(outcome, Capture), (case.name, outcome)
        again = second[case.name]
        assert isinstance(again, Capture)
        assert (outcome.html, outcome.charset) == (again.html, again.charset)
        outcome.html.encode("utf-8")
        assert "\0" not in outcome.html
        if "_jp" in case.name or "_jis" in case.name or case.name.startswith("enc_euc"):
            assert japanese in outcome.html, case.name
    for name, text in {
        "enc_bom_beats_header": "prix €",
        "enc_utf16le_bom": "prix €",
        "enc_latin1_label_cp1252_bytes": "€ 100 “quoted”",
        "enc_gb2312_label_gb18030_bytes": "条款已更改𠮷镕",
        "enc_utf7_header": "+ADw-script",
        "enc_nul_bytes": "CCC",
    }.items():
        outcome = first[name]
        assert isinstance(outcome, Capture)
        assert text in outcome.html, name


def test_hostile_content_is_captured_within_the_deadline(hostile: Any) -> None:
    cases = [case for case in hostile.cases() if case.area == "content" and case.kind == "body"]

    with catalogue_server(hostile) as server:
        outcomes = outcomes_of(server, cases)

    failed = {name: outcome.reason for name, outcome in outcomes.items() if isinstance(outcome, Failure)}
    assert failed == {"larger_than_limit_20MB": "too-large", "attr_10MB": "too-large"}
    for name in ("pdf", "pdf_as_html", "png_as_html", "html_as_octet_stream", "svg_script"):
        outcome = outcomes[name]
        assert isinstance(outcome, Capture)
        assert not outcome.is_text


def test_no_hostile_url_reaches_loopback(hostile: Any) -> None:
    """All but the two whose text must merely stay literal are refused; the canary sees no connection."""
    cases = [case for case in hostile.cases() if case.area == "url"]
    lookups: list[str] = []

    async def lookup(host: str) -> list[str]:
        lookups.append(host)
        if host == "mixed.test":
            return [PUBLIC, "10.0.0.1"]
        if host == "rebind.test":
            return ["127.0.0.1"] if lookups.count(host) == 1 else [PUBLIC]
        if host in ("127.0.0.1.nip.io", "cname-to-localhost.test"):
            return ["127.0.0.1"]
        raise OSError(host)

    async def run() -> tuple[dict[str, Outcome], int]:
        async with serve({"*": response()}) as canary:
            own = frozenset({"our-own-host.example"})
            policy = AddressPolicy(own_hosts=own, extra_ports=frozenset({canary.port}))
            urls = [case.payload for case in cases]
            # The same again at the canary's own port, so that a slip would be seen as a connection.
            aimed = [url[:-1] + f":{canary.port}/" for url in urls if url.startswith("http://") and url.endswith("/")]
            requests = [
                FetchRequest(key=number, url=url, limits=Limits(total_s=DEADLINE_S))
                for number, url in enumerate([*urls, *aimed])
            ]
            outcomes = fetch_many(requests, policy=policy, lookup=lookup)
            found = {
                (cases[outcome.key].name if outcome.key < len(cases) else f"aimed {outcome.url}"): outcome
                async for outcome in outcomes
            }
            return found, canary.connections

    outcomes, connections = asyncio.run(run())

    assert connections == 0
    assert len(cases) == 58
    for case in cases:
        outcome = outcomes[case.name]
        assert isinstance(outcome, Failure)
        if case.verdict == "BLOCKED":
            assert outcome.reason == "refused-by-policy", (case.name, case.payload, outcome)
    assert all(isinstance(outcome, Failure) for outcome in outcomes.values())
    assert lookups.count("rebind.test") == 1
