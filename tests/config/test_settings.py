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
        ({"TIDELINE_WORKERS": "0"}, "TIDELINE_WORKERS is 0; expected 1 to 64"),
        ({"TIDELINE_WORKERS": "two"}, "TIDELINE_WORKERS is 'two'; expected a whole number"),
        ({"TIDELINE_EXTRA_PORTS": "8080,http"}, "TIDELINE_EXTRA_PORTS contains 'http'"),
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
