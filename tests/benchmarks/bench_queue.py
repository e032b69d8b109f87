"""What the queue costs at a million changes: its pages, and searches by several ways, on the configured database.

`python -m tests.benchmarks.bench_queue --changes 1000000 --waiting 10000` fills an empty database (TIDELINE_DATA or
TIDELINE_DATABASE name it) and prints CPU and elapsed milliseconds; `--only-measure` leaves the rows as they are.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import Any

WORDS = 40_000  # of the made-up vocabulary, drawn as words are in a language: few often, most seldom
KANJI = "利用状況第三者提供個人情報料金契約期間解約通知保存目的同意法令開示請求規約改定会員登録支払消費税返品送料"
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def texts(rng: random.Random) -> Iterator[str]:
    """Changed texts of about 50 words, one in eight Japanese."""
    vocabulary = ["".join(rng.choices("abcdefghiklmnoprstuvw", k=rng.randrange(4, 12))) for _ in range(WORDS)]
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    pool = rng.choices(vocabulary, weights, k=2_000_000)
    while True:
        if rng.random() < 0.125:
            yield "".join(rng.choices(KANJI, k=120))
        else:
            start = rng.randrange(len(pool) - 60)
            yield " ".join(pool[start : start + 50])


def fill(total: int, waiting: int) -> None:
    """Monitors, and changes of which the newest of each monitor waits."""
    from monitoring.models import Change
    from monitoring.services import searching
    from tests.factories import make_check, make_monitor, make_snapshot, make_team, make_user

    rng = random.Random(7)
    team = make_team()
    make_user("ines", team=team)
    first = make_monitor()
    check, prior = make_check(first), make_snapshot(first)
    monitors = _monitors(first, waiting)
    source = texts(rng)
    for chunk in batched(range(2 * waiting), 5_000):
        rows = []
        for number in chunk:
            pk = monitors[number % waiting]
            text = searching.words_of(next(source) if number % 8 else f"{next(source)} quittance")
            rows.append(
                Change(
                    monitor_id=pk, check_row=check, prior=prior, new=prior, kind="content",
                    state="open" if number < waiting else rng.choice(["approved", "dismissed"]),
                    opened_at=NOW - timedelta(minutes=number), updated_at=NOW, priority=rng.randrange(4),
                    score=rng.random(), cut=0.5, diff_hash="0" * 64, added=rng.randrange(90), removed=rng.randrange(90),
                    say=[["=", "We "], ["-", "will not"], ["+", "may"]], search_text=f"page {pk}\n{text}",
                )
            )  # fmt: skip
        Change.objects.bulk_create(rows)
    _more_decided(total)


def _more_decided(total: int) -> None:
    """Decided changes again and again, until there are as many rows as wanted."""
    from django.db import connection

    from monitoring.models import Change

    columns = ", ".join(f'"{f.column}"' for f in Change._meta.local_concrete_fields if not f.primary_key)
    with connection.cursor() as cursor:
        while (missing := total - Change.objects.count()) > 0:
            cursor.execute(
                f"INSERT INTO monitoring_change ({columns}) SELECT {columns} FROM monitoring_change "
                "WHERE state NOT IN ('open', 'snoozed') LIMIT %s",
                [missing],
            )


def _monitors(first: Any, count: int) -> list[int]:
    from monitoring.models import Monitor, Site

    sites = Site.objects.bulk_create(Site(name=f"Site {n}", host=f"s{n}.example") for n in range(max(1, count // 50)))
    made: list[int] = []
    for chunk in batched(range(count), 5_000):
        rows = [
            Monitor(
                name=f"Page {n}", url=f"https://s{n}.example/{n}", site=sites[n % len(sites)], team=first.team,
                page_type=first.page_type, vantage=first.vantage, next_check_at=NOW,
            )
            for n in chunk
        ]  # fmt: skip
        made += [row.pk for row in Monitor.objects.bulk_create(rows)]
    return made


def timed(call: Callable[[], object], rounds: int) -> tuple[str, object]:
    """Elapsed and own processor milliseconds (on SQLite all there is), and what the last call gave; the first is not counted."""
    spent, worked, result = [], [], call()
    for _round in range(rounds):
        start, at = time.process_time(), time.perf_counter()
        result = call()
        spent.append((time.perf_counter() - at) * 1000)
        worked.append((time.process_time() - start) * 1000)
    spent.sort()
    worked.sort()
    p95 = int(len(spent) * 0.95)
    return (
        f"elapsed median {statistics.median(spent):7.1f} p95 {spent[p95]:7.1f} ms   "
        f"processor median {statistics.median(worked):7.1f} p95 {worked[p95]:7.1f} ms"
    ), result


def measure(rounds: int) -> None:
    """Searches by the index and by looking through the texts, and whole pages."""
    from django.contrib.auth.models import User
    from django.db.models import Q
    from django.test import Client

    from monitoring.models import Change
    from review.selectors import queue

    user = User.objects.get(username="ines")
    print(f"changes {Change.objects.count()}, waiting {Change.objects.filter(state='open').count()}")
    seldom = Change.objects.filter(state="open").order_by("-pk").values_list("search_text", flat=True)[7].split()[5]
    asked = {"one word in eight": "quittance", "seldom": seldom, "two characters": "料金", "four characters": "個人情報",
             "nothing": "zzzzzzq"}  # fmt: skip
    for name, text in asked.items():
        wanted = queue.Filter(q=text)

        def indexed(wanted: queue.Filter = wanted) -> int:
            rows = queue.changes_in(wanted, user=user, now=NOW)
            found = list(queue.for_rows(rows).order_by("-priority", "opened_at", "pk")[:26])
            return len(found) + rows[:1000].count()

        def looked_through(text: str = text) -> int:
            rows = Change.objects.visible_to(user).filter(Q(search_text__icontains=text), state="open")
            found = list(queue.for_rows(rows).order_by("-priority", "opened_at", "pk")[:26])
            return len(found) + rows[:1000].count()

        for way, call in (("index", indexed), ("looking through", looked_through)):
            words, result = timed(call, rounds)
            print(f"search {name:18} {way:16} {words}  ({result})")
    client = Client(SERVER_NAME="127.0.0.1", HTTP_HOST="127.0.0.1")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    pages = {"queue": "/queue/", "queue, searched": "/queue/?q=quittance", "queue, by score": "/queue/?sort=score",
             "change": f"/c/{Change.objects.filter(state='open').earliest('pk').pk}/"}  # fmt: skip
    for name, address in pages.items():
        words, answer = timed(lambda address=address: client.get(address), rounds)  # type: ignore[misc]
        print(f"page   {name:35} {words}  {getattr(answer, 'status_code', '')}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def main() -> None:
    """Fill and measure."""
    import django
    from django.core.management import call_command

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only-measure", action="store_true")
    options = parser.parse_args()
    if not options.only_measure:
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        start = time.perf_counter()
        fill(options.changes, options.waiting)
        print(f"filled in {time.perf_counter() - start:.0f} s")
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    measure(options.rounds)


if __name__ == "__main__":
    main()
