"""No room for the database, or for mail: nothing is lost, and all goes on once there is room."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from monitoring.models import Change, Check, Monitor, OutboxMessage, Snapshot
from monitoring.services import outbox
from tests.factories import NOW, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

type Watch = Callable[..., Monitor]


@contextmanager
def full_database() -> Iterator[None]:
    """SQLite may not grow by a page: it answers as on a full disk."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_count")
        (pages,) = cursor.fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")


@pytest.mark.django_db(transaction=True)
def test_visits_stay_due_while_the_database_cannot_grow(watch: Watch, site: LocalSite) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's limit stands for the disk's")
    monitors = [watch(f"/{n}", page()) for n in range(30)]
    visit(*monitors)
    for n in range(30):
        site.put(f"/{n}", page(clauses=CLAUSES[1:]))
    make_user("ines")
    reader = Client()
    reader.force_login(make_user("noor"), backend="django.contrib.auth.backends.ModelBackend")
    before = (Check.objects.count(), Change.objects.count(), Snapshot.objects.count())

    with full_database():
        with pytest.raises(OperationalError, match="full"):
            visit(*monitors)
        made = Check.objects.count() - before[0]
        assert Change.objects.count() == made  # each written whole, or not at all
        assert reader.get("/queue/").status_code == 200
    assert made < 30
    visit(*(m for m in monitors if m.check_no == 1))

    assert Check.objects.count() == before[0] + 30
    assert Change.objects.count() == 30
    assert not Change.objects.filter(folded__gt=0).exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Django leaves the file open
@pytest.mark.django_db
def test_mail_waits_while_its_folder_is_full(settings: Any) -> None:
    backend = "django.core.mail.backends.filebased.EmailBackend"
    settings.MAILERS = {"default": {"BACKEND": backend, "OPTIONS": {"file_path": str(settings.MAIL_DIR)}}}
    outbox.enqueue(key="k", kind="alert", recipient="a@example.test", subject="s", text="t", now=NOW)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # no file may grow
    try:
        sent = outbox.send_due(now=NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    message = OutboxMessage.objects.get()
    assert (sent, message.state, message.attempts) == (0, "waiting", 1)
    assert os.strerror(errno.EFBIG) in message.last_error

    assert outbox.send_due(now=timezone.now()) == 1
