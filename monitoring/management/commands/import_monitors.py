"""Monitors from a CSV file, for those who keep their list elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from monitoring.models import Team
from monitoring.services import importing


class Command(BaseCommand):
    """`manage.py import_monitors FILE`: shows what it would do; `--add` does it."""

    help = "Look at a CSV file of monitors and, with --add, add its good lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help=f"CSV with the columns {', '.join(importing.COLUMNS)}; url is enough"
        )
        parser.add_argument("--add", action="store_true", help="add the good lines; without it nothing is written")
        parser.add_argument("--team", help="only this team may be named; it is also the one for lines that name none")
        parser.add_argument("--user", help="account that stands in the record of settings")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = self._actor(options["user"])
        teams = Team.objects.filter(name=options["team"]) if options["team"] else Team.objects.all()
        if not teams:
            raise CommandError(f"There is no team {options['team']!r}." if options["team"] else "There is no team yet.")
        try:
            importing.check_size(options["file"].stat().st_size)
            text = importing.decode(options["file"].read_bytes())
            if options["add"]:
                report = importing.add(text, teams=teams, actor=actor, now=timezone.now())
            else:
                report = importing.look(text, teams=teams)
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}") from error
        except importing.UnreadableFileError as error:
            raise CommandError(str(error)) from error
        for line in report.bad:
            self.stdout.write(f"line {line.number}: {line.url or line.name or '(unread)'}: {' '.join(line.problems)}")
        done = f"{len(report.added)} added" if options["add"] else f"{len(report.good)} can be added (--add adds them)"
        self.stdout.write(f"{len(report.lines)} lines: {done}, {len(report.bad)} left out")

    def _actor(self, name: str | None) -> User | None:
        if not name:
            return None
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no account {name!r}.")
        return user
