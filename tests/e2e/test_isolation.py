"""A hostile snapshot in a real browser: nothing runs, nothing leaves, nothing is shared."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Dialog, expect

from monitoring import storage
from monitoring.models import Change
from review import frames
from tests.e2e.conftest import Open
from tests.review.test_frames import HOSTILE

pytestmark = pytest.mark.browser


class Canary:
    """A listener on loopback that counts who connects."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.hits = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                peer, _address = self.socket.accept()
            except OSError:
                return
            self.hits += 1
            peer.close()

    @property
    def origin(self) -> bytes:
        """Where it listens."""
        return b"http://127.0.0.1:%d" % self.socket.getsockname()[1]


@pytest.fixture
def canary() -> Iterator[Canary]:
    """Stands where the hostile page's own server would."""
    found = Canary()
    yield found
    found.socket.close()


@pytest.fixture
def body(canary: Canary) -> bytes:
    """The hostile page with its addresses turned to the canary."""
    return HOSTILE.replace(b"https://evil.example", canary.origin)


@pytest.fixture
def hostile(people: dict[str, User], body: bytes) -> Change:
    """A waiting change whose prior snapshot is hostile."""
    change = Change.objects.get(monitor__name="Privacy notice")
    change.prior.payload = storage.put(body)
    change.prior.save(update_fields=["payload"])
    return change


@pytest.mark.parametrize("framed", [True, False])
def test_the_snapshot_is_inert_framed_and_opened_directly(
    open_as: Open, site: str, hostile: Change, canary: Canary, people: dict[str, User], framed: bool
) -> None:
    page = open_as()
    dialogs: list[str] = []

    def refuse(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    if framed:
        page.goto(f"{site}/c/{hostile.pk}/")
        expect(page.frame_locator("iframe").locator("body")).to_contain_text("We will not share it.")
        frame = next(f for f in page.frames if "/frame/" in f.url)
    else:
        page.goto(frames.frame_url(frames.Ticket(people["ines"].pk, hostile.pk, hostile.prior_id, "-")))
        frame = page.main_frame
    page.wait_for_load_state("networkidle")

    assert frame.evaluate("self.origin") == "null"
    assert frame.evaluate("() => { try { return document.cookie } catch (e) { return e.name } }") in (
        "",
        "SecurityError",
    )
    assert page.evaluate("typeof PWNED") == "undefined"
    assert dialogs == []
    assert canary.hits == 0


def test_a_script_that_survived_cleaning_would_still_not_run(
    open_as: Open, site: str, hostile: Change, canary: Canary, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "prepare", lambda _body, **_more: body.decode())
    page = open_as()

    page.goto(f"{site}/c/{hostile.pk}/")
    expect(page.frame_locator("iframe").locator("body")).to_contain_text("We will not share it.")
    page.wait_for_load_state("networkidle")

    assert page.evaluate("typeof PWNED") == "undefined"
    assert canary.hits == 0
