"""Wrong settings stop the start and say which and why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def start(**environment: str) -> subprocess.CompletedProcess[str]:
    """Read the settings in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "TIDELINE_DATA": "var/settings-test", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TIDELINE_DEBUG": "perhaps"}, "TIDELINE_DEBUG is 'perhaps'; expected 1 or 0"),
        ({"TIDELINE_METRICS_TOKEN": "short"}, "TIDELINE_METRICS_TOKEN is too short; expected 16 characters"),
        (
            {"TIDELINE_METRICS_NETWORKS": "10.0.0.1/8"},
            "TIDELINE_METRICS_NETWORKS contains '10.0.0.1/8'; expected a net",
        ),
        ({"TIDELINE_LOG_FORMAT": "xml"}, "TIDELINE_LOG_FORMAT is 'xml'; expected text or json"),
        ({"TIDELINE_WORKERS": "0"}, "TIDELINE_WORKERS is 0; expected 1 to 64"),
        ({"TIDELINE_WORKERS": "two"}, "TIDELINE_WORKERS is 'two'; expected a whole number"),
        ({"TIDELINE_BROWSER_WORKERS": "-1"}, "TIDELINE_BROWSER_WORKERS is -1; expected 0 to 64"),
        ({"Q_CLUSTER_NAME": "other"}, "Q_CLUSTER_NAME is 'other'; expected tideline or tideline-browser"),
        ({"TIDELINE_EXTRA_PORTS": "8080,http"}, "TIDELINE_EXTRA_PORTS contains 'http'"),
        ({"TIDELINE_TRUSTED_PROXIES": "proxy.internal"}, "TIDELINE_TRUSTED_PROXIES contains 'proxy.internal'"),
        ({"TIDELINE_TRUSTED_PROXIES": "p:80,u:pw@p:81"}, "TIDELINE_TRUSTED_PROXIES contains 'u:pw@p:81'"),
        ({"TIDELINE_TRUSTED_PROXIES": "p:99999"}, "TIDELINE_TRUSTED_PROXIES contains 'p:99999'"),
        ({"TIDELINE_ALLOWED_NETWORKS": "10.1.0.1/16"}, "TIDELINE_ALLOWED_NETWORKS contains '10.1.0.1/16'"),
        ({"TIDELINE_ALLOWED_NETWORKS": "10.1.0.0/16,0.0.0.0/0"}, "TIDELINE_ALLOWED_NETWORKS contains 0.0.0.0/0; only"),
        ({"TIDELINE_ALLOWED_NETWORKS": "169.254.169.254/32"}, "TIDELINE_ALLOWED_NETWORKS contains 169.254"),
        ({"TIDELINE_CONTACT": "ask me"}, "TIDELINE_CONTACT is 'ask me'; expected a mail address"),
        ({"TIDELINE_CONTACT": "https://a.example/x)\r\ny"}, "TIDELINE_CONTACT is "),
        ({"TIDELINE_WORKER_MEMORY_MB": "100"}, "TIDELINE_WORKER_MEMORY_MB is 100; a worker needs 512 or more"),
        ({"TIDELINE_STORAGE": "ftp://x/y"}, "TIDELINE_STORAGE has the scheme 'ftp'; expected file or s3"),
        ({"STORAGE_URL": "s3://key:s3cret@host:9000"}, "STORAGE_URL names no bucket; expected s3://"),
        ({"TIDELINE_STORAGE": "s3://host/bucket?tsl=0"}, "TIDELINE_STORAGE has the option 'tsl'; expected region, tls"),
        ({"TIDELINE_STORAGE": "s3://host/bucket?tls=no"}, "TIDELINE_STORAGE has tls=no; expected 1 or 0"),
        ({"TIDELINE_STORAGE": "file://payloads"}, "TIDELINE_STORAGE names no folder"),
        ({"TIDELINE_DATABASE": "mysql://x/y"}, "TIDELINE_DATABASE has the scheme 'mysql'"),
        ({"TIDELINE_DATABASE": "postgresql://localhost"}, "TIDELINE_DATABASE names no database"),
        ({"TIDELINE_ORIGIN": "watch.example.org"}, "TIDELINE_ORIGIN is 'watch.example.org'"),
        ({"TIDELINE_FRAME_ORIGIN": "http://127.0.0.1:8000"}, "TIDELINE_FRAME_ORIGIN has the host of TIDELINE_ORIGIN"),
        ({"TIDELINE_PRODUCTION": "1"}, "TIDELINE_SECRET_KEY is not set"),
        ({"TIDELINE_PRODUCTION": "1", "TIDELINE_SECRET_KEY": "k" * 60}, "TIDELINE_SMTP_HOST is not set"),
        ({"TIDELINE_PRODUCTION": "1", "TIDELINE_DEBUG": "1"}, "TIDELINE_DEBUG is on together with TIDELINE_PRODUCTION"),
        (
            {"TIDELINE_SMTP_PASSWORD_FILE": "/nowhere/at/all", "TIDELINE_SMTP_HOST": "m"},
            "TIDELINE_SMTP_PASSWORD_FILE cannot be read",
        ),
        (
            {
                "TIDELINE_PRODUCTION": "1",
                "TIDELINE_SECRET_KEY": "k" * 60,
                "TIDELINE_SMTP_HOST": "mail.example",
                "TIDELINE_TEST_ALLOWED_ADDRESSES": "127.0.0.1:80",
            },
            "TIDELINE_TEST_ALLOWED_ADDRESSES opens the address guard",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_wrong_value_stops_the_start_and_is_named(environment: dict[str, str], expected: str) -> None:
    found = start(**environment)

    assert found.returncode == 1
    assert expected in found.stderr
    assert "Traceback" not in found.stderr


def test_secrets_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-a-file" * 6)

    found = subprocess.run(
        [sys.executable, "-c", "import config.settings as s; print(s.SECRET_KEY)"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "TIDELINE_SECRET_KEY_FILE": str(tmp_path / "key")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == "from-a-file" * 6


def test_trusted_proxies_are_written_as_the_guard_compares_them() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import config.settings as s; print(s.TRUSTED_PROXIES)"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "TIDELINE_DATA": "var/settings-test",
            "TIDELINE_TRUSTED_PROXIES": "Proxy.Internal:3128, [fd00::1]:8080",
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == "['proxy.internal:3128', 'fd00::1:8080']"


PRODUCTION = {
    "TIDELINE_PRODUCTION": "1",
    "TIDELINE_SECRET_KEY": "".join(chr(33 + 7 * i % 90) for i in range(64)),
    "TIDELINE_ORIGIN": "https://watch.example.org",
    "TIDELINE_FRAME_ORIGIN": "https://frames.example.net",
    "TIDELINE_SMTP_HOST": "mail.example.org",
    "TIDELINE_PROXY_COUNT": "1",
    "TIDELINE_TRUST_FORWARDED_PROTO": "1",
}


def test_a_production_environment_passes_the_deployment_checks(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-W", "error", "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "TIDELINE_DATA": str(tmp_path), **PRODUCTION},
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 0, found.stderr
    assert "no issues" in found.stdout


def test_a_store_may_be_a_folder_or_a_service_with_its_secret_in_a_file(tmp_path: Path) -> None:
    show = "from config import settings as s; print(s.PAYLOAD_DIR, s.STORAGE and (s.STORAGE.where, s.STORAGE.key, s.STORAGE.secret), s.STORAGE)"
    secret = tmp_path / "secret"
    secret.write_text("hush/%40\n")

    def shown(**environment: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", show],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "TIDELINE_DATA": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return result.stdout

    assert shown(STORAGE_URL=f"file://{tmp_path}/pages") == f"{tmp_path}/pages None None\n"
    told = shown(
        TIDELINE_STORAGE="s3://store.example:9000/bucket/a/b?region=eu-central-1",
        TIDELINE_STORAGE_KEY="me",
        TIDELINE_STORAGE_SECRET_FILE=str(secret),
    )
    assert "('s3://store.example:9000/bucket/a/b', 'me', 'hush/%40')" in told
    assert "hush" not in told.partition(")")[2]
