"""Rows for tests, with defaults; pass only what the test is about."""

from __future__ import annotations

import copy
import hashlib
import itertools
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import Group, User

from monitoring.models import Change, Check, Monitor, PageType, Payload, Site, Snapshot, Team, Vantage
from monitoring.services import searching

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
_numbers = itertools.count(1)

DIFF: dict[str, Any] = {
    "version": 1,
    "lang": "en",
    "direction": "ltr",
    "unit": "words",
    "added": 1,
    "removed": 1,
    "total": 9,
    "places": 1,
    "moved": 0,
    "simplified": False,
    "counts": {"reworded": 1},
    "ignored": {},
    "blocks": [
        {
            "op": "reworded",
            "tag": "p",
            "heading": 0,
            "surface": "visible",
            "region": "main",
            "old": 1,
            "new": 1,
            "place": 1,
            "segments": [["=", "We "], ["-", "will not"], ["+", "may"], ["=", " share it."]],
            "sentences": [0, 0],
            "edits": 1,
        }
    ],
}


def make_team(name: str = "Compliance") -> Team:
    """A team, made once per name."""
    return Team.objects.get_or_create(name=name)[0]


def make_user(name: str = "ines", *, role: str = "analyst", team: Team | None = None, **extra: Any) -> User:
    """A person with one role, in one team."""
    user = User.objects.create_user(name, f"{name}@example.test", "correct horse battery", **extra)
    if role:
        user.groups.add(Group.objects.get_or_create(name=role)[0])
    if role == "admin":
        user.is_staff = True
        user.save(update_fields=["is_staff"])
    (team or make_team()).members.add(user)
    return user


def make_page_type(slug: str = "privacy-policy", **extra: Any) -> PageType:
    """A page type, made once per slug."""
    defaults = {"name": slug.replace("-", " ").capitalize(), **extra}
    return PageType.objects.get_or_create(slug=slug, defaults=defaults)[0]


def make_monitor(**extra: Any) -> Monitor:
    """A monitor of a fictional page, due now."""
    number = next(_numbers)
    values: dict[str, Any] = {
        "name": f"Privacy notice {number}",
        "url": f"https://halden{number}.example/privacy",
        "next_check_at": NOW,
    }
    values.update(extra)
    if "site" not in values:
        values["site"] = Site.objects.create(name=f"Halden {number}", host=f"halden{number}.example")
    values.setdefault("team", make_team())
    if "page_type" not in values:
        values["page_type"] = make_page_type()
    if "vantage" not in values:
        values["vantage"] = Vantage.objects.get_or_create(name="default")[0]
    return Monitor.objects.create(**values)


def make_payload(body: bytes = b"<p>Hello</p>") -> Payload:
    """A payload row without bytes on disk; use `monitoring.storage.put` where the bytes matter."""
    digest = hashlib.sha256(body).hexdigest()
    return Payload.objects.get_or_create(sha256=digest, defaults={"size_bytes": len(body), "stored_bytes": len(body)})[
        0
    ]


def make_snapshot(monitor: Monitor, **extra: Any) -> Snapshot:
    """A snapshot of a monitor."""
    values: dict[str, Any] = {
        "role": Snapshot.Role.BASELINE,
        "payload": extra.pop("payload", None) or make_payload(),
        "taken_at": NOW,
        "url": monitor.url,
        "final_url": monitor.url,
        "status": 200,
        "detector_version": "test",
        "product_version": "test",
    }
    values.update(extra)
    return Snapshot.objects.create(monitor=monitor, **values)


def make_check(monitor: Monitor, **extra: Any) -> Check:
    """A check of a monitor."""
    values: dict[str, Any] = {
        "check_no": next(_numbers),
        "started_at": NOW,
        "outcome": "content",
        "detector_version": "test",
    }
    values.update(extra)
    return Check.objects.create(monitor=monitor, **values)


def make_change(monitor: Monitor | None = None, **extra: Any) -> Change:
    """An open change with two snapshots and a small diff."""
    monitor = monitor or make_monitor()
    values: dict[str, Any] = {
        "kind": Change.Kind.CONTENT,
        "opened_at": NOW,
        "updated_at": NOW,
        "score": 0.8,
        "cut": 0.5,
        "distance": 5,
        "threshold": 3,
        "diff": copy.deepcopy(DIFF),
        "diff_hash": "0" * 64,
        "say": [["=", "We "], ["-", "will not"], ["+", "may"], ["=", " share it."]],
        "added": 1,
        "removed": 1,
        "places": 1,
    }
    values.update(extra)
    if "check_row" not in values:
        values["check_row"] = make_check(monitor)
    if "prior" not in values:
        values["prior"] = make_snapshot(monitor)
    if "new" not in values:
        values["new"] = make_snapshot(monitor, role=Snapshot.Role.CHANGE)
    values["search_text"] = searching.of_change(monitor, values.get("search_text", ""), limit=8_000)
    return Change.objects.create(monitor=monitor, **values)
