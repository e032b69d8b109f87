"""`manage.py compare_vantages`: the same page from two vantages, and what differs by place."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from monitoring.detection.diff import rows_of
from monitoring.models import Monitor, Vantage
from monitoring.services import comparisons


class Command(BaseCommand):
    """Ask now, print what differs, and write nothing."""

    help = "Fetch a monitor's page from two vantages and print what differs by place."

    def add_arguments(self, parser: CommandParser) -> None:
        """The monitor by number, the vantages by name or number."""
        parser.add_argument("monitor", type=int, help="number of the monitor")
        parser.add_argument("first", help="name or number of a vantage")
        parser.add_argument("second", help="name or number of another vantage")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raise CommandError where a name is unknown or a side brought no page."""
        monitor = (
            Monitor.objects.select_related("site", "page_type", "vantage", "baseline")
            .filter(pk=options["monitor"])
            .first()
        )
        if monitor is None:
            raise CommandError(f"There is no monitor {options['monitor']}.")
        first, second = _vantage(options["first"]), _vantage(options["second"])
        if first == second:
            raise CommandError("Choose two different vantages.")
        found = comparisons.compared(monitor, first, second)
        for side in found["facts"]:
            status, size = side.get("status", "-"), side.get("size_bytes", 0)
            self.stdout.write(f"{side['vantage']}: {status}, {size} bytes, {side['ms']} ms, {side['final_url']}")
        if found["state"] != comparisons.State.DONE:
            raise CommandError(found["problem"])
        document = found["diff"]
        if not document["places"]:
            self.stdout.write("The page reads the same from both.")
            return
        self.stdout.write(f"{document['places']} places differ, +{document['added']} -{document['removed']}")
        for row in rows_of(document):
            if row["op"] == "equal" or row["left_out"]:
                continue
            for side, sign in (("before", "-"), ("after", "+")):
                text = "".join(s[1] for s in _segments(row, side) if s[0] in f"={sign}")
                if text and not (row["op"] == "added" and sign == "-") and not (row["op"] == "removed" and sign == "+"):
                    self.stdout.write(f"{sign} {text[:300]}")


def _segments(row: dict[str, Any], side: str) -> list[list[str]]:
    return list(row.get("segments") or row.get(side) or [])


def _vantage(text: str) -> Vantage:
    found = Vantage.objects.filter(pk=int(text)).first() if text.isdigit() else None
    found = found or Vantage.objects.filter(name=text).first()
    if found is None:
        known = ", ".join(Vantage.objects.values_list("name", flat=True)[:20])
        raise CommandError(f"There is no vantage {text!r}; there are: {known}.")
    return found
