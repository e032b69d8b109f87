"""A product of its own to be broken: monitors of pages that are edited in rounds, and the account of what has to be there afterwards."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.chaos.site import Site

LEASE_S = 3
RESUMED_WITHIN_S = LEASE_S + 30
SERVER = "postgresql://postgres@127.0.0.1:5432"


@contextlib.contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty database, on disk (`sqlite`) or on this machine's server (`postgresql`)."""
    if kind == "sqlite":
        yield f"sqlite://{folder}/chaos.sqlite3"
        return
    import psycopg

    name = f"tideline_chaos_{secrets.token_hex(4)}"
    with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield f"{SERVER}/{name}"
    finally:
        with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def environment(folder: Path, database_url: str, *, redis: str = "", allowed: str = "", **more: str) -> dict[str, str]:
    """The environment of the product's processes."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TIDELINE_", "DATABASE_", "REDIS_"))},
        "TIDELINE_DATA": str(folder),
        "TIDELINE_DATABASE": database_url,
        "TIDELINE_REDIS": redis,
        "TIDELINE_TEST_ALLOWED_ADDRESSES": allowed,
        "TIDELINE_LEASE_S": str(LEASE_S),
        "TIDELINE_CONFIRM_DELAY_S": "0",
        "TIDELINE_CANARY_S": "0",
        "TIDELINE_WORKERS": "2",
        "TIDELINE_BROWSER_WORKERS": "0",
        "TIDELINE_LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        **more,
    }  # fmt: skip


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tideline-chaos-", ignore_cleanup_errors=True) as path:
        yield Path(path)


def alone() -> None:
    """Close this process's connections, before a fork and while others are killed."""
    from django.db import connections

    connections.close_all()


class World:
    """The monitors and their rounds. In each round every page is due once, edited or as it was."""

    def __init__(self, site: Site, monitors: int) -> None:
        self.site, self.count = site, monitors
        self.patience_s = float(RESUMED_WITHIN_S)
        self.rounds = 0
        self.edits = 0
        self.repeats = 0  # mails that may have gone out twice: the sender was killed between acceptance and commit

    def make(self, *, gap_s: float = 0) -> None:
        """The tables, the monitors, and somebody who is mailed when a fee changes."""
        from django.contrib.auth.models import User
        from django.core.management import call_command
        from django.utils import timezone

        from monitoring.models import FieldRule, Monitor, PageType, Team, Vantage
        from monitoring.models import Site as Host

        call_command("migrate", interactive=False, verbosity=0)
        hosts = [
            Host.objects.create(name=address, host=address, gap_s=gap_s, robots_policy="ignore", robots_reason="chaos")
            for address in self.site.addresses
        ]
        team, page_type = Team.objects.create(name="Chaos"), PageType.objects.create(name="Notice", slug="notice")
        FieldRule.objects.create(
            page_type=page_type, name="fee", source="css", selector="b.price", type="price", important=True
        )
        team.members.add(User.objects.create_user("ines", "ines@example.test", is_active=True))
        common: dict[str, Any] = {"team": team, "page_type": page_type, "vantage": Vantage.objects.create(name="plain")}
        Monitor.objects.bulk_create(
            [
                Monitor(name=f"Page {n}", url=url, site=hosts[n % len(hosts)], next_check_at=timezone.now(), **common)
                for n, url in enumerate(self.site.urls(self.count))
            ]
        )

    def open_round(self, *, edited: bool) -> None:
        """Make every page due, edited or not. Changes of the round before are closed, as a person would."""
        from django.utils import timezone

        from monitoring.models import CalibrationRun, Change, Monitor

        if edited:
            self.site.edit()
            self.edits += 1
        CalibrationRun.objects.all().delete()  # first looks fetch pages too, and are not what is counted here
        Change.objects.filter(state="open").update(state="approved", closed_at=timezone.now())
        self.rounds += 1
        Monitor.objects.update(next_check_at=timezone.now())

    def left(self) -> int:
        """Monitors that were not visited yet in this round, and mails that are not sent."""
        from monitoring.models import Monitor, OutboxMessage

        unsent = OutboxMessage.objects.exclude(state="sent").count()
        return Monitor.objects.exclude(check_no=self.rounds + 1).count() + unsent

    def has_suspects(self, times: int = 1) -> bool:
        """Whether a page is suspected of killing workers so many times. It is rightly set aside after three; here others do it."""
        from monitoring.models import Monitor

        return Monitor.objects.filter(stage_failures__gte=times).exists()

    def visits(self) -> int:
        """Visits on disk."""
        from monitoring.models import Check

        return Check.objects.count()

    def wait(self, *, within_s: float) -> float:
        """Seconds until the round is done, or those that were given."""
        began = time.monotonic()
        while self.left() and time.monotonic() - began < within_s:
            time.sleep(0.05)
        return time.monotonic() - began

    def account(self) -> dict[str, int]:
        """What is missing and what is there twice, against what the rounds ask for; `held` is what nobody gave back."""
        from django.conf import settings
        from django.db.models import Count, Max, Q

        from monitoring import storage
        from monitoring.models import Change, Check, FieldChange, Monitor, OutboxMessage, Payload, Snapshot

        lost: Counter[str] = Counter()
        double: Counter[str] = Counter()
        wanted, edits = self.rounds + 1, self.edits
        rows = Monitor.objects.annotate(
            made=Count("checks", distinct=True), last=Max("checks__check_no"), raised=Count("changes", distinct=True)
        ).values_list("check_no", "made", "last", "raised")
        for number, made, last, raised in rows:
            lost["visits"] += max(0, wanted - made)
            double["visits"] += max(0, made - wanted)
            lost["numbers"] += int(last != made or number != made)
            lost["changes"] += max(0, edits - raised)
            double["changes"] += max(0, raised - edits)
        double["changes"] += Change.objects.filter(Q(folded__gt=0) | Q(version__gt=1)).count()
        fields = FieldChange.objects.count() - edits * self.count
        mails = OutboxMessage.objects.filter(kind="alert").count() - edits * self.count
        for name, more in (("fields", fields), ("mails", mails)):
            (double if more > 0 else lost)[name] += abs(more)
        sent = self._sent(Path(settings.MAIL_DIR))
        known = set(OutboxMessage.objects.filter(kind="alert").values_list("message_id", flat=True))
        lost["mails sent"] += len(known - sent.keys())
        double["mails sent"] += max(0, sum(sent.values()) - len(sent) - self.repeats)
        for payload in Payload.objects.all():
            try:
                storage.get(payload)
            except storage.PayloadDamageError:
                lost["payloads"] += 1
        texts = (
            Change.objects.filter(new__isnull=True).count()
            + Check.objects.filter(outcome="content", snapshot=None).count()
        )
        lost["evidence"] += texts + int(Snapshot.objects.count() < Change.objects.count() + self.count)
        held = Monitor.objects.filter(
            Q(lease_until__isnull=False) | ~Q(lease_token="") | Q(quarantined_at__isnull=False)
        )
        return {
            "lost": lost.total(),
            "double": double.total(),
            "repeated": sum(sent.values()) - len(sent),
            "held": held.count(),
            **{f"lost {name}": count for name, count in lost.items() if count},
            **{f"double {name}": count for name, count in double.items() if count},
        }

    def _sent(self, mails: Path) -> Counter[str]:
        """How often each message was accepted, by Message-ID."""
        found: Counter[str] = Counter()
        for path in mails.glob("*.log"):
            text = path.read_text(encoding="utf-8", errors="replace")
            found.update(re.findall(r"(?mi)^Message-ID:\s*(<[^>]+>)", text))
        return found
