"""One scenario in a process of its own, over the database and broker of its environment; prints its rows as JSON.

Run by `python -m tests.chaos`, which prepares the environment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.chaos.site import Site
from tests.chaos.world import World


def main(job: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one scenario."""
    import django

    django.setup()
    from django.conf import settings

    from tests.chaos import faults, lives

    faults.install()
    lives.only_mail_by_the_clock()
    world = World(Site(job["port"], job["hosts"]), job["monitors"])
    world.patience_s = job["patience_s"]
    world.make()
    log = Path(settings.DATA_DIR) / "lives.log"
    first = lives.Life(lives.solo, log)
    if world.wait(within_s=300) >= 300:
        raise SystemExit(f"the first visits did not end\n{log.read_text()[-3000:]}")
    first.kill()
    rows: list[dict[str, Any]] = []
    for part in job["parts"]:
        rows += _part(world, log, job, *part)
    return rows


def _part(world: World, log: Path, job: dict[str, Any], name: str, count: int) -> list[dict[str, Any]]:
    from django.conf import settings
    from django.db import connection

    from tests.chaos import backlog, kills, messages, outages
    from tests.chaos.servers import Postgres, Redis

    seed, only, redis = job["seed"], job.get("only"), bool(settings.REDIS_URL)
    match name:
        case "points" | "cluster":
            return kills.points(world, log, kills=count, seed=seed, cluster=name == "cluster", redis=redis, only=only)
        case "random":
            return kills.at_random(world, log, kills=count, seed=seed)
        case "stopped":
            return kills.stopped(world, log, stops=count, seed=seed, locks_rows=connection.vendor == "postgresql")
        case "database":
            return outages.database_away(world, log, Postgres(*job["postgres"]), away_s=count)
        case "broker":
            return outages.broker_away(world, log, Redis(*job["redis"]), away_s=count)
        case "flush":
            return outages.flushed(world, log, settings.REDIS_URL)
        case "backlog":
            return backlog.drain(world, log, pages=count, say=lambda text: print(f"SAYS {text}", flush=True))
        case "messages":
            return messages.poisoned(world, log, old=count)
        case "tickers":
            return messages.tickers(world, log, turns=count)
        case unknown:
            raise SystemExit(f"no scenario {unknown!r}")


if __name__ == "__main__":
    print("ROWS " + json.dumps(main(json.loads(sys.argv[1]))), flush=True)
