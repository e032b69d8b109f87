"""Ten thousand pages due at once over two hundred hosts: how long two workers take, against what hosts and processor allow."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from tests.chaos.product import Product
from tests.chaos.world import World

type Row = dict[str, Any]

GAP_S = 1.0
SLACK = 1.2
PAGE_P95_S = 0.3
ASKED_EVERY_S = 0.3
_TRIAL = 400


def drain(world: World, log: Path, *, pages: int, say: Callable[[str], None]) -> list[Row]:
    """The bound is said before the run."""
    from monitoring.models import Check, Monitor

    world.open_round(edited=True)  # a queue to look at
    product = Product(log)
    product.sign_in()
    product.start("web", "workers", "ticker")
    try:
        product.wait_for_page(90)
        world.wait(within_s=120)
        _copy(world, pages)
        hosts = len(world.site.addresses)
        long = Monitor.objects.filter(url__contains="/long/")
        ids = list(long.order_by("pk").values_list("pk", flat=True))
        _visit(ids[: min(_TRIAL, pages // 4)], within_s=300)  # what is done once is done
        trial = ids[-min(_TRIAL, pages // 4) :]
        before = _cpu(product)
        seconds = _visit(trial, within_s=300)
        each = (_cpu(product) - before) / len(trial)
        cores = os.cpu_count() or 1
        by_hosts, by_cpu = -(-pages // hosts) * GAP_S, each * pages / cores
        bound = SLACK * max(by_hosts, by_cpu)
        say(
            f"bound: {pages} pages over {hosts} hosts, {GAP_S:g} s apart, {each * 1000:.2f} ms CPU each on {cores} cores: "
            f"max({by_hosts:.1f}, {by_cpu:.1f}) s x {SLACK} = {bound:.1f} s (trial of {len(trial)}: {seconds:.1f} s)"
        )
        world.site.hurried(GAP_S)
        reader = _Reader(product)
        made = Check.objects.count()
        before, began = _cpu(product), time.monotonic()
        reader.start()
        taken = _visit(ids, within_s=max(bound * 4, 120))
        reader.stop()
        used = _cpu(product) - before
        hurried, asked = world.site.hurried(GAP_S * 0.8)
        made = Check.objects.count() - made
    finally:
        product.kill()
    say(
        f"drained {made} in {taken:.1f} s ({made / max(taken, 0.1):.0f} a second), {used:.0f} s CPU ({used / max(taken, 0.1) / cores:.0%} of the machine for us); "
        f"queue page {len(reader.seconds)} times, p50 {reader.at(0.5) * 1000:.0f} ms, p95 {reader.at(0.95) * 1000:.0f} ms, most {reader.at(1) * 1000:.0f} ms; "
        f"{hurried} of {asked} requests less than {GAP_S * 0.8:g} s after another of their host; {time.monotonic() - began - taken:.1f} s to read the rest"
    )
    late = max(0, len(ids) - made)
    slow = int(reader.at(0.95) > PAGE_P95_S)
    return [{
        "what": f"{pages} due at once over {hosts} hosts (bound {bound:.0f} s)", "times": made, "wanted": len(ids), "rounds": 1,
        "lost": late, "double": max(0, made - len(ids)), "repeated": 0, "held": 0, "resumed": reader.at(0.95), "drained": taken,
        "within": (PAGE_P95_S, bound), **({"lost answers": reader.failed} if reader.failed else {}), "slow pages": slow,
    }]  # fmt: skip


def _visit(ids: list[int], *, within_s: float) -> float:
    """Make pages due and wait until each was visited once; seconds."""
    from django.utils import timezone

    from monitoring.models import Monitor

    now = timezone.now()
    for start in range(0, len(ids), 5000):
        Monitor.objects.filter(pk__in=ids[start : start + 5000]).update(next_check_at=now)
    began = time.monotonic()
    first, last = min(ids), max(ids)
    while time.monotonic() - began < within_s:
        if not Monitor.objects.filter(pk__gte=first, pk__lte=last, next_check_at__lte=now).exists():
            break
        time.sleep(0.2)
    return time.monotonic() - began


def _copy(world: World, pages: int) -> None:
    """Monitors of long pages as if each had been visited, made from one that was."""
    from django.utils import timezone

    from monitoring.models import CalibrationRun, Monitor, Site, Snapshot

    sites = list(Site.objects.order_by("pk"))
    Site.objects.update(gap_s=GAP_S)
    address = f"http://{world.site.addresses[0]}:{world.site.port}/long/0"
    like = Monitor.objects.order_by("pk").first()
    assert like is not None
    shared = {"team": like.team, "page_type": like.page_type, "vantage": like.vantage}
    model = Monitor.objects.create(name="Long 0", url=address, site=sites[0], next_check_at=timezone.now(), **shared)
    ends = time.monotonic() + 60
    while model.check_no < 3 and time.monotonic() < ends:
        CalibrationRun.objects.all().delete()
        Monitor.objects.filter(pk=model.pk, lease_until=None).update(next_check_at=timezone.now())
        time.sleep(0.3)
        model.refresh_from_db()
    assert model.baseline is not None, "the page was not visited"
    later = timezone.now() + timedelta(days=1)
    columns = {f.attname: getattr(model, f.attname) for f in Monitor._meta.concrete_fields if not f.primary_key}
    columns |= {"lease_until": None, "lease_token": "", "next_check_at": later, "baseline_id": None}
    copies = [
        Monitor(**columns | {
            "name": f"Long {n}", "site_id": sites[n % len(sites)].pk,
            "url": f"http://{world.site.addresses[n % len(sites)]}:{world.site.port}/long/{n}",
        })
        for n in range(1, pages + 1)
    ]  # fmt: skip
    Monitor.objects.filter(pk=model.pk).update(enabled=False, url=address.replace("long", "model"))
    Monitor.objects.bulk_create(copies, batch_size=500)
    shot = {f.attname: getattr(model.baseline, f.attname) for f in Snapshot._meta.concrete_fields if not f.primary_key}
    made = Snapshot.objects.bulk_create(
        [Snapshot(**shot | {"monitor_id": m.pk, "url": m.url, "final_url": m.url}) for m in copies], batch_size=500
    )
    for monitor, snapshot in zip(copies, made, strict=True):
        monitor.baseline_id = snapshot.pk
    Monitor.objects.bulk_update(copies, ["baseline_id"], batch_size=500)


def _cpu(product: Product) -> float:
    """CPU seconds of the product's processes until now, and of the site's that serves them."""
    total = 0.0
    for process in product.processes.values():
        with_children = [psutil.Process(process.pid)]
        with_children += with_children[0].children(recursive=True)
        for one in with_children:
            times = one.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total + _site_cpu()


def _site_cpu() -> float:
    total = 0.0
    for one in psutil.Process(os.getppid()).children():
        if "tests.chaos.site" in " ".join(one.cmdline()):
            times = one.cpu_times()
            total += times.user + times.system
    return total


class _Reader(threading.Thread):
    """Somebody who looks at the queue all the time."""

    def __init__(self, product: Product) -> None:
        super().__init__(daemon=True)
        self._product, self._over = product, threading.Event()
        self.seconds: list[float] = []
        self.failed = 0

    def run(self) -> None:
        while not self._over.wait(ASKED_EVERY_S):
            status, _again, _text, seconds = self._product.get("/queue/")
            self.seconds.append(seconds)
            self.failed += status != 200

    def stop(self) -> None:
        """No more."""
        self._over.set()
        self.join()

    def at(self, share: float) -> float:
        """The seconds below which this share of the answers were there."""
        found = sorted(self.seconds)
        return found[min(len(found) - 1, int(len(found) * share))] if found else 0.0
