"""The first account of an installation."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from review.services import accounts


class Command(BaseCommand):
    """`manage.py create_admin`: nothing happens where an active superuser is known."""

    help = "Make the first admin account and print its password, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default="admin", help="user name of the account")
        parser.add_argument("--email", default="", help="address for digests and new passwords")

    def handle(self, *args: Any, **options: Any) -> None:
        user, password = accounts.ensure_admin(name=options["name"], email=options["email"])
        if password is None:
            self.stdout.write(f"Account: {user.get_username()} (made earlier; its password was printed then)")
            return
        self.stdout.write(f"Account: {user.get_username()}    Password: {password}")
        self.stdout.write("The password is printed this once. `manage.py changepassword` sets another.")
