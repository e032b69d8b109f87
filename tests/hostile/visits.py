"""The shared catalogue through the whole pipeline: monitors with a baseline, claimed, fetched, judged and recorded.

`python -m tests.hostile.visits` reads a job as JSON on standard input, works it on a database of its own, and prints
what was recorded: a process of its own, whose memory is measured and which no case may bring down.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Cases that never end get the short deadline. The others end by themselves, on a busy machine later than on an idle one.
DEADLINE_S = 6.0
ROOMY_S = 40.0
ENDLESS = frozenset({"slow_headers", "slow_body_1B_per_500ms", "accept_then_silence"})
PUBLIC = "93.184.216.34"
NAMES = {
    "mixed.test": [PUBLIC, "10.0.0.1"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "cname-to-localhost.test": ["127.0.0.1"],
    "redis": ["10.0.0.7"],
    "rebind.test": ["127.0.0.1"],
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the process is asked for. `cases` are name, address, and the address of the honest page that was there before."""

    cases: list[tuple[str, str, str]]
    honest: list[str]
    authority: str = ""  # PEM of what stands in for the system's authorities


@dataclass(kw_only=True)
class Seen:
    """What was recorded of one case: both visits, how long they took, and whether the baseline is still the same."""

    verdicts: list[tuple[str, str]] = field(default_factory=list)
    sentence: str = ""
    ms: int = 0
    kept: bool = True
    visits: int = 0
    changes: int = 0


@dataclass(kw_only=True)
class Report:
    """All of it. `honest` is how many seconds after the start of the batch each honest page was recorded."""

    seen: dict[str, Seen] = field(default_factory=dict)
    honest: list[float] = field(default_factory=list)
    honest_outcomes: list[str] = field(default_factory=list)
    lookups: dict[str, int] = field(default_factory=dict)
    strayed: list[str] = field(default_factory=list)
    peak_mb: float = 0.0
    seconds: float = 0.0


def main() -> None:
    """Work the job."""
    raw: dict[str, Any] = json.load(sys.stdin)  # Any: our own JSON
    job = Job(**raw)
    import django

    django.setup()
    report = Report()
    _stub(job, report)
    began = time.monotonic()
    _work(job, report)
    report.seconds = round(time.monotonic() - began, 2)
    report.peak_mb = _peak_mb()
    sys.stdout.write(json.dumps(asdict(report)))


def _peak_mb() -> float:
    """The most memory this process had in use. Linux counts the starter's into `ru_maxrss`, so its own mark is read."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024, 1)


def _stub(job: Job, report: Report) -> None:
    """Names from a table, the test's own authority, and short limits; everything else is the product's."""
    import ssl
    from dataclasses import replace

    from monitoring.fetching import http
    from monitoring.fetching.capture import FetchRequest, Limits
    from monitoring.services import capture

    class Table:
        def __init__(self, width: int) -> None: ...

        async def __call__(self, host: str) -> list[str]:
            report.lookups[host] = count = report.lookups.get(host, 0) + 1
            if host == "rebind.test" and count > 2:  # once a visit; whoever asks again gets another answer
                return [PUBLIC]
            if host not in NAMES:
                raise OSError(host)
            return NAMES[host]

        def close(self) -> None: ...

    _stay_on_loopback(report)
    vars(http)["SystemLookup"] = Table
    if job.authority:
        trusting = ssl.create_default_context(cadata=job.authority)
        vars(http)["default_tls"] = lambda: trusting
    whole = capture.request_for

    def hasty(monitor: Any, *, now: Any) -> FetchRequest:
        deadline = DEADLINE_S if monitor.name in ENDLESS else ROOMY_S
        return replace(whole(monitor, now=now), limits=Limits(total_s=deadline))

    capture.request_for = hasty


def _stay_on_loopback(report: Report) -> None:
    """Refuse and count every connection to anything but the test's own servers, loopback included."""
    import socket

    connect = socket.socket.connect
    known = set(os.environ["TIDELINE_TEST_ALLOWED_ADDRESSES"].split(","))

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and f"{address[0]}:{address[1]}" not in known:
            report.strayed.append(f"{address[0]}:{address[1]}")
            raise OSError("only the test's own servers are connected to")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign,assignment]


def _work(job: Job, report: Report) -> None:
    from django.utils import timezone

    from monitoring.models import Change, Check, Monitor, PageType, Site, Team, Vantage

    team = Team.objects.create(name="Team")
    page_type = PageType.objects.create(name="Page", slug="page")
    vantage = Vantage.objects.create(name="plain")
    started = timezone.now()

    def monitor(name: str, url: str, site: Site) -> Monitor:
        return Monitor(
            name=name[:200], url=url, site=site, team=team, page_type=page_type, vantage=vantage,
            next_check_at=started, last_audit_at=started,
        )  # fmt: skip

    # Each case is a site of its own: what one does must not be read as the fault of the others' host.
    sites = [Site.objects.create(name=case[0], host=f"{n}.case", gap_s=0) for n, case in enumerate(job.cases)]
    honest_site = Site.objects.create(name="honest", host="honest", gap_s=0)
    rows = [monitor(name, first, site) for (name, _, first), site in zip(job.cases, sites, strict=True)]
    rows += [monitor(f"honest {n}", url, honest_site) for n, url in enumerate(job.honest)]
    Monitor.objects.bulk_create(rows)
    _visit()
    before = {m.name: m for m in Monitor.objects.all()}
    assert all(m.baseline_id for m in before.values()), [m.name for m in before.values() if not m.baseline_id]
    for name, url, _ in job.cases:
        Monitor.objects.filter(pk=before[name].pk).update(url=url[:2000], etag="", last_modified="")
    report.seen = {name: Seen() for name, _, _ in job.cases}
    for turn in range(2):
        began = timezone.now()
        first_check = {m.pk: m.check_no for m in Monitor.objects.all()}
        _visit()
        for check in Check.objects.filter(started_at__gte=began).order_by("pk").select_related("monitor"):
            if check.check_no <= first_check[check.monitor_id]:
                continue
            if check.monitor.name in report.seen:
                seen = report.seen[check.monitor.name]
                seen.verdicts.append((check.outcome, check.reason))
                seen.sentence = seen.sentence or check.detail
                seen.ms = max(seen.ms, check.duration_ms)
            elif turn == 0:
                report.honest.append(round((check.started_at - began).total_seconds() + check.duration_ms / 1000, 2))
                report.honest_outcomes.append(check.outcome)
    after = {m.name: m for m in Monitor.objects.all()}
    for name, seen in report.seen.items():
        seen.kept = after[name].baseline_id == before[name].baseline_id
        seen.changes = Change.objects.filter(monitor=after[name]).count()


def _visit() -> None:
    """Everything is due; claim and work it until nothing is left."""
    from django.utils import timezone

    from monitoring.models import Monitor, Site
    from monitoring.services import capture, schedule

    now = timezone.now()
    Monitor.objects.update(next_check_at=now, lease_until=None, lease_token="")
    Site.objects.update(rest_until=None, failures=0, refusals=0)
    for claim in schedule.claim_due(now=now, limit=500, lease_s=600):
        capture.run_batch(claim.ids, claim.token)


def environment(folder: Path, allowed: list[str]) -> dict[str, str]:
    """What the process is started with."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIDELINE_")}
    return kept | {
        "TIDELINE_DATA": str(folder),
        "TIDELINE_DATABASE": f"sqlite:///{folder / 'db.sqlite3'}",
        "TIDELINE_TEST_ALLOWED_ADDRESSES": ",".join(allowed),
        "TIDELINE_CONFIRM_DELAY_S": "0",
        "TIDELINE_FETCH_PER_HOST": "20",
        "TIDELINE_ALLOWED_HOSTS": "our-own-host.example",
        "TIDELINE_WORKERS": "1",
        "TIDELINE_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }


if __name__ == "__main__":
    main()
