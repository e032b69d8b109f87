"""`manage.py replay`: stored captures judged again after an upgrade, held against the stored judgements."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from monitoring.services import replay


class Command(BaseCommand):
    """Goes on where it was broken off; fails when an approved change would not be raised any more."""

    help = "Judge stored captures again with this version of the detector and compare with what was judged then."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--again", action="store_true", help="begin anew instead of going on")
        parser.add_argument("--most", type=int, help="so many pairs at most; the rest with the next call")

    def handle(self, *args: Any, **options: Any) -> None:
        row = replay.Replay() if options["again"] else replay.load()
        total = row.done + replay.left(row).count()
        if row.done:
            self.stdout.write(f"Going on after {row.done} of {total}.")
        for _ in replay.replay(row, most=options["most"]):  # the row itself tells
            self.stdout.write(f"{row.done} of {total}")
            self.stdout.flush()
        replay.save(row)
        self.stdout.write(
            f"{row.same} as before, {row.moved} with other figures, {row.lost_count} not raised any more, "
            f"{row.raised} audit samples raised now, {row.folded} folded, {row.unreadable} unreadable."
        )
        if row.lost:
            self.stdout.write(f"Not raised any more: changes {', '.join(map(str, row.lost))}")
        if row.lost_approved:
            raise CommandError(
                f"{row.lost_approved} approved changes would not be raised by this version: look at them before it goes on."
            )
