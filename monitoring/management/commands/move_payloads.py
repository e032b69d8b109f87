"""Copies all page bytes to another store; the settings then say that it is the one in force."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from monitoring import storage
from monitoring.services.moving import move
from monitoring.storeaddress import StoreAddressError, read_address


class Command(BaseCommand):
    """`manage.py move_payloads --to URL`."""

    help = (
        "Copy every stored payload to another store, verified there. What is there already is passed over, so it can be "
        "broken off and run again. Then set TIDELINE_STORAGE, restart, and run it once more with --from for what came meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to", required=True, metavar="URL", help="file:///FOLDER or s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX"
        )
        parser.add_argument("--from", dest="source", default="", metavar="URL", help="by default the store in force")

    def handle(self, *args: Any, **options: Any) -> None:
        target = _store("--to", options["to"])
        source = _store("--from", options["source"]) if options["source"] else storage.store()
        if isinstance(target, storage.FileStore):
            target.root.mkdir(parents=True, exist_ok=True)
        if source.where == target.where:
            raise CommandError("--to names the store that the payloads are in")
        copied = there = bad = 0
        try:
            for step in move(source, target):
                copied += step.copied
                there += step.was_there
                if step.problem:
                    bad += 1
                    self.stderr.write(step.problem)
        except storage.StorageError as error:
            raise CommandError(
                f"{error}; {copied} payloads copied, {there} were there; run it again to go on"
            ) from error
        self.stdout.write(f"{copied} payloads copied, {there} were there")
        if bad:
            raise CommandError(f"{bad} payloads are missing or damaged where they are, and were not moved")
        self.stdout.write(
            f"Set TIDELINE_STORAGE to {target.where} (with its key and secret) and restart all processes."
        )


def _store(option: str, url: str) -> storage.Store:
    try:
        place = read_address(url, key=settings.STORAGE_KEY, secret=settings.STORAGE_SECRET)
        return storage.store_at(place)
    except (StoreAddressError, storage.StorageError) as error:
        raise CommandError(f"{option} {error}") from error
