"""Fifty people press a button on one change at once; `python -m tests.review.race 200` does so on 200 changes of the configured database."""

from __future__ import annotations

import json
import os
import sys
import threading
import uuid
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from monitoring.models import Change

PEOPLE = 50


def rush(change: Change, people: list[User]) -> tuple[Counter[str], list[str]]:
    """What came of everybody's verdict, by kind of outcome, and what went wrong."""
    from django.db import connections

    from review.models import Verdict
    from review.services import verdicts
    from tests.factories import NOW

    start, found = threading.Barrier(len(people)), Counter[str]()
    wrong: list[str] = []
    guard = threading.Lock()

    def press(person: User) -> None:
        try:
            start.wait(timeout=30)
            seen = verdicts.Seen(change.version, change.diff_hash, uuid.uuid4().hex, 9.0)
            outcome = verdicts.decide(change.pk, action=Verdict.Action.APPROVE, actor=person, seen=seen, now=NOW)
            with guard:
                found[type(outcome).__name__] += 1
                if isinstance(outcome, verdicts.Taken) and outcome.winner is None:
                    wrong.append("a loser was not told who won")
        except Exception as error:  # noqa: BLE001 - reported to the test, whatever it is
            with guard:
                wrong.append(repr(error))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=press, args=[person]) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    return found, wrong


def run(rounds: int = 1) -> dict[str, object]:
    """The race on fresh changes; gives the counts of all rounds."""
    from django.contrib.auth.models import User

    from review.models import Verdict
    from tests.factories import make_change, make_team

    team = make_team()
    people = [User.objects.create_user(f"person{n}") for n in range(PEOPLE)]
    team.members.add(*people)
    found, wrong = Counter[str](), list[str]()
    for _round in range(rounds):
        counts, problems = rush(make_change(), people)
        found += counts
        wrong += problems
    return {"found": dict(found), "wrong": wrong, "verdicts": Verdict.objects.count()}


if __name__ == "__main__":
    import django
    from django.core.management import call_command

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    print(json.dumps(run(rounds=int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
