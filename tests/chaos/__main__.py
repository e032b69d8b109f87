"""Kill loops and fault runs, printed as tables: `make chaos`, or `python -m tests.chaos SCENARIO ... [--broker orm|redis]`.

Each scenario has a product of its own in a folder and a database of its own; same seed, same choices. Ends with 1 where anything
was lost, made twice or not resumed in time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import subprocess
import sys
import tempfile
from typing import Any

from tests import tables
from tests.chaos import servers, world
from tests.chaos.lives import die_with_parent
from tests.chaos.site import ROOT, serving

type Row = dict[str, Any]

COUNTS = {
    "points": 20,
    "cluster": 20,
    "random": 200,
    "stopped": 100,
    "database": 60,
    "broker": 60,
    "flush": 1,
    "backlog": 10_000,
    "messages": 1000,
    "tickers": 20,
}
"""Kills or stops; for `database` and `broker` the seconds they are away."""
MONITORS = {
    "points": 60,
    "cluster": 60,
    "random": 60,
    "stopped": 60,
    "database": 1000,
    "broker": 1000,
    "flush": 1000,
    "backlog": 60,
    "messages": 60,
    "tickers": 300,
}
ONLY_REDIS = frozenset({"broker", "flush"})
LEASES = {
    "database": 10,
    "broker": 10,
    "flush": 10,
    "backlog": 90,
}  # seconds; a machine that is busy with a thousand pages is slow
BROKERS = {"orm": ("sqlite", ""), "redis": ("postgresql", "redis://127.0.0.1:6379/{db}")}


def run(
    parts: list[tuple[str, int]], broker: str, *, monitors: int, seed: int = 1, redis_db: int = 9, hosts: int = 1,
    only: list[str] | None = None, patience_s: float = world.RESUMED_WITHIN_S,
) -> list[Row]:  # fmt: skip
    """The rows of scenarios, each with its count, one after the other in one world. Raises where they could not be run to their end."""
    kind, redis_url = BROKERS[broker]
    redis_url = redis_url.format(db=redis_db)
    names = {name for name, _count in parts}
    with contextlib.ExitStack() as stack:
        folder, site = stack.enter_context(world.folder()), stack.enter_context(serving(hosts))
        job: dict[str, Any] = {
            "parts": parts, "port": site.port, "hosts": hosts, "monitors": monitors, "seed": seed, "only": only,
            "patience_s": patience_s,
        }  # fmt: skip
        if "database" in names:
            postgres = stack.enter_context(servers.postgres(folder))
            url, job["postgres"] = postgres.url, (postgres.folder, postgres.port)
        else:
            url = stack.enter_context(world.database(kind, folder))
        if "broker" in names:
            server = stack.enter_context(servers.redis(folder))
            redis_url, job["redis"] = server.url, (server.folder, server.port)
        _empty(redis_url)
        environment = world.environment(folder, url, redis=redis_url, allowed=site.allowed)
        if "database" not in names:  # that server is empty, and of no use as a template
            tables.fill(url, environment)
        environment["TIDELINE_LEASE_S"] = str(max(LEASES.get(name, world.LEASE_S) for name in names))
        command = [sys.executable, "-m", "tests.chaos.scenario", json.dumps(job)]
        output, errors, status = _told(command, environment)
        if "broker" not in names:
            _empty(redis_url)
        found = [line for line in output if line.startswith("ROWS ")]
        if not found:
            log = folder / "lives.log"
            tail = log.read_text(errors="replace")[-3000:] if log.exists() else ""
            raise RuntimeError(f"{parts} on {broker} ended with {status}\n{errors[-3000:]}\n{tail}")
        rows: list[Row] = json.loads(found[0].removeprefix("ROWS "))
        return rows


def _told(command: list[str], environment: dict[str, str]) -> tuple[list[str], str, int]:
    """Run to the end, and pass on at once what it says meanwhile."""
    lines = []
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=die_with_parent,
        ) as process,
    ):
        assert process.stdout is not None
        for text in process.stdout:
            lines.append(text.rstrip("\n"))
            if text.startswith("SAYS "):
                print(text.removeprefix("SAYS ").rstrip(), flush=True)
        status = process.wait()
        errors.seek(0)
        return lines, errors.read(), status


def _empty(redis_url: str) -> None:
    if redis_url:
        import redis

        with redis.Redis.from_url(redis_url) as server:
            server.flushdb()


def faults_of(row: Row, *, timed: bool = True) -> list[str]:
    """What is wrong with a row; empty where all is as it has to be. Not `timed`: however long it took."""
    wrong = [f"{name} {row[name]}" for name in ("lost", "double", "held") if row[name]]
    if row["times"] < row["wanted"]:
        wrong.append(f"happened {row['times']} of {row['wanted']} times")
    within = (math.inf, math.inf) if not timed else row.get("within", (world.RESUMED_WITHIN_S, world.RESUMED_WITHIN_S))
    wrong += [
        f"{name} after {row[name]:.1f} s"
        for name, most in zip(("resumed", "drained"), within, strict=True)
        if row[name] > most
    ]
    return wrong + [f"{name} {row[name]}" for name in row if name.startswith(("lost ", "double ")) and row[name]]


def line(broker: str, row: Row) -> str:
    """A row as printed."""
    wrong = "; ".join(faults_of(row))
    return (
        f"{broker:<6} {row['what']:<58} {row['times']:>4} {row['rounds']:>6} {row['lost']:>5} {row['double']:>7} "
        f"{row['repeated']:>9} {row['held']:>5} {row['resumed']:>8.1f} {row['drained']:>8.1f}  {wrong or 'ok'}"
    )


HEADER = f"{'broker':<6} {'what':<58} {'n':>4} {'rounds':>6} {'lost':>5} {'double':>7} {'mail rep.':>9} {'held':>5} {'resumed':>8} {'drained':>8}"  # fmt: skip


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(COUNTS)}; without any, all of them")
    parser.add_argument("--broker", choices=list(BROKERS), action="append", help="orm (SQLite) or redis (PostgreSQL)")
    parser.add_argument("--count", type=int, help="how often, instead of the scenario's own")
    parser.add_argument("--monitors", type=int, help="how many pages, instead of the scenario's own")
    parser.add_argument("--hosts", type=int, default=200, help="over which the pages of `backlog` are dealt out")
    parser.add_argument("--point", action="append", help="only this point of `points` and `cluster`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--redis-db", type=int, default=9, help="number of the Redis database that is emptied and used")
    options = parser.parse_args()
    if unknown := set(options.scenarios) - COUNTS.keys():
        parser.error(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(COUNTS)}")
    print(HEADER)
    failed = 0
    for scenario in options.scenarios or COUNTS:
        for broker in options.broker or BROKERS:
            if scenario in ONLY_REDIS and broker != "redis":
                continue
            rows = run(
                [(scenario, options.count or COUNTS[scenario])], broker, monitors=options.monitors or MONITORS[scenario],
                seed=options.seed, redis_db=options.redis_db, hosts=options.hosts if scenario == "backlog" else 1, only=options.point,
            )  # fmt: skip
            for row in rows:
                print(line(broker, row), flush=True)
                failed += bool(faults_of(row))
    tables.drop_template()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
