"""The browser and the mail server, tried."""

from __future__ import annotations

import contextlib
import logging
import smtplib
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, override

from django.conf import settings
from django.core.mail import EmailMessage, mailers

from monitoring.fetching import browser
from monitoring.fetching.capture import Capture, FetchRequest, Limits, RenderSpec
from monitoring.fetching.guard import AddressPolicy
from monitoring.services.doctor.lines import Lines, ok, problem, warning

MAIL_S = 10.0
RENDER_S = 30.0
_WORD = "rendered-by-script"
_PAGE = f"<!doctype html><title>Doctor</title><p id=p>plain<script>p.textContent='{_WORD[:8]}'+'{_WORD[8:]}'</script>"


def chromium() -> Lines:
    """Start the browser, show it a page of our own on loopback, and see that its script ran."""
    path = browser.find_chromium(settings.CHROMIUM)
    if not path:
        said = f"{settings.CHROMIUM} is no file" if settings.CHROMIUM else "none was found"
        line = warning if not settings.BROWSER_WORKERS else problem
        yield line("browser", said, "Install Chromium (Debian: apt install chromium) or set TIDELINE_CHROMIUM.")
        return
    yield ok("browser", f"{path}: {_version(path)}")
    with _page_on_loopback() as port, _remarks() as remarks:
        policy = AddressPolicy(allow=frozenset({("127.0.0.1", port)}))
        request = FetchRequest(
            key=0,
            url=f"http://127.0.0.1:{port}/",
            limits=Limits(total_s=RENDER_S),
            render=RenderSpec(screenshot=False, quiet_ms=100),
        )
        found = browser.render(request, policy=policy, chromium_path=settings.CHROMIUM)
    if not isinstance(found, Capture):
        yield problem("browser", f"a page of our own was not rendered: {found.message}", "See the log of the renderer.")
    elif _WORD not in found.html:
        yield problem("browser", "a page was rendered, but its script did not run", "See the log of the renderer.")
    else:
        yield ok("browser", f"a page of our own was rendered in {found.duration_ms} ms")
    for remark in remarks:
        yield warning(
            "browser", f"it ran {remark}",
            "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or seccomp of the container).",
        )  # fmt: skip


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=15, check=False)  # noqa: S603 - the configured browser
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not tell its version ({type(error).__name__})"
    return done.stdout.strip() or "does not tell its version"


@contextlib.contextmanager
def _page_on_loopback() -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = _PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Not in the log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


@contextlib.contextmanager
def _remarks() -> Iterator[list[str]]:
    """What the renderer says of how the browser had to be started."""
    heard: list[str] = []

    class Listener(logging.Handler):
        @override
        def emit(self, record: logging.LogRecord) -> None:
            if record.msg == browser.RAN and isinstance(record.args, tuple):
                heard.append(str(record.args[0]))

    listener = Listener()
    renderer = logging.getLogger(browser.__name__)
    renderer.addHandler(listener)
    try:
        yield heard
    finally:
        renderer.removeHandler(listener)


def mail_options() -> dict[str, Any]:  # Any: of several types
    """How the mail server is reached; empty where there is none."""
    mailer: dict[str, Any] = settings.MAILERS["default"]
    return dict(mailer.get("OPTIONS", {}))


def mail(send_to: str = "") -> Lines:
    """Connect to the mail server, encrypt, log in; send nothing unless somebody is named."""
    options = mail_options()
    host = options.get("host")
    if not host:
        yield warning("mail", f"no mail server: mails become files in {settings.MAIL_DIR}", "Set TIDELINE_SMTP_HOST.")
        return
    port, user = options["port"], options["username"]
    try:
        with smtplib.SMTP(host, port, timeout=MAIL_S) as server:
            server.ehlo()
            if options["use_tls"]:
                server.starttls(context=ssl.create_default_context())
                server.ehlo()
            elif user:
                yield warning("mail", "the password goes out in the clear", "Set TIDELINE_SMTP_STARTTLS=1.")
            if user:
                server.login(user, options["password"])
    except ssl.SSLCertVerificationError as error:
        yield problem("mail", f"{host}:{port} has a certificate that is not trusted: {error.verify_message}", "Mend its certificate, or name the host that it is for.")  # fmt: skip
        return
    except smtplib.SMTPNotSupportedError as error:
        yield problem("mail", f"{host}:{port}: {error}", "Set TIDELINE_SMTP_STARTTLS=0 only if the way there is safe.")
        return
    except smtplib.SMTPAuthenticationError as error:
        yield problem("mail", f"{host}:{port} refused the account {user!r}: {error.smtp_code}", "See TIDELINE_SMTP_USER and TIDELINE_SMTP_PASSWORD.")  # fmt: skip
        return
    except (OSError, smtplib.SMTPException) as error:
        yield problem("mail", f"{host}:{port}: {type(error).__name__}: {error}", "See TIDELINE_SMTP_HOST, its port, and the firewall.")  # fmt: skip
        return
    yield ok("mail", f"{host}:{port} answers{', encrypted' if options['use_tls'] else ''}{', and takes the account' if user else ''}")  # fmt: skip
    if send_to:
        yield from _sent(send_to)


def _sent(recipient: str) -> Lines:
    message = EmailMessage("Tideline: a test", "manage.py doctor --send-to was asked to send this.", to=[recipient])
    try:
        mailers["default"].send_messages([message])
    except (OSError, smtplib.SMTPException, ValueError) as error:
        yield problem("mail", f"a mail to {recipient} was not taken: {error}", "See the mail server's log.")
    else:
        yield ok("mail", f"a mail to {recipient} was taken")
