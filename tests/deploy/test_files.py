"""The files for deployments name settings, commands, files and users that exist, and nothing that moves under their feet."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
TEXTS = [DEPLOY / "Containerfile", DEPLOY / "compose.yaml", DEPLOY / "systemd/tideline.env.example", *UNITS]
# What compose itself reads to fill in the file.
OF_COMPOSE = {"TIDELINE_VERSION", "TIDELINE_MAIL_DOMAIN"}


def settings() -> set[str]:
    """Every variable that the settings read, and the files that may hold its value."""
    names = set(re.findall(r"^\| `(TIDELINE_[A-Z_]+)`", (ROOT / "docs/operations.md").read_text(), re.M))
    return names | {f"{name}_FILE" for name in names}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_setting_exists(path: Path) -> None:
    named = set(re.findall(r"\bTIDELINE_[A-Z_]+\b", path.read_text()))

    assert named - settings() - OF_COMPOSE == set()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_command_exists(path: Path) -> None:
    named = set(re.findall(r"manage\.py\"?,? \"?([a-z_]+)", path.read_text()))

    assert named - set(get_commands()) == set()


def test_images_are_of_a_fixed_version() -> None:
    compose, container = (DEPLOY / "compose.yaml").read_text(), (DEPLOY / "Containerfile").read_text()
    images = re.findall(r"^\s+image: (\S+)", compose, re.M)
    bases = re.findall(r"^ARG PYTHON=(\S+)", container, re.M)

    assert len(images) >= 5
    for image in images:
        _name, colon, tag = image.partition(":")
        assert colon, f"{image} names no version"
        assert "latest" not in tag
        assert re.search(r"\d", tag), image
    assert bases
    assert all(re.match(r"\d+\.\d+", base) for base in bases)


def test_the_image_installs_only_what_is_locked_and_runs_as_nobody_in_particular() -> None:
    text = (DEPLOY / "Containerfile").read_text()

    installs = re.findall(r"pip install ([^\n;&]*)", text)
    assert installs
    assert all("--require-hashes" in line for line in installs)
    stages = text.split("\nFROM ")
    assert all(re.findall(r"^USER (\S+)", stage, re.M)[-1] == "10001:10001" for stage in stages[2:])
    assert "is_native()" in text
    for folder in re.findall(r"^COPY ([\w./-]+) ", text, re.M):
        if not folder.startswith("--"):
            assert (ROOT / folder).exists(), folder
    ignored = (ROOT / ".dockerignore").read_text()
    for folder in re.findall(r"^COPY ([\w./-]+) ", text, re.M):
        assert f"!{folder}" in ignored, f"{folder} is not sent to the builder"


def test_what_compose_refers_to_is_in_it() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    body, _, rest = text.partition("\nnetworks:\n")
    networks, _, rest = rest.partition("\nvolumes:\n")
    volumes, _, secrets = rest.partition("\nsecrets:\n")

    def defined(block: str) -> set[str]:
        return set(re.findall(r"^  (\w+):", block, re.M))

    def used(name: str) -> set[str]:
        return {one for found in re.findall(rf"{name}: \[([\w, ]+)\]", body) for one in found.split(", ")}

    assert used("networks") == defined(networks)
    assert used("secrets") == defined(secrets)
    assert set(re.findall(r'"(\w+):/', body)) == defined(volumes)
    assert set(re.findall(r"/run/secrets/(\w+)", body)) == defined(secrets)
    named = set(re.findall(r"^\| `(\w+)` \|", (DEPLOY / "README.md").read_text(), re.M))
    assert defined(secrets) <= named
    assert re.search(r"^  data: \{ internal: true \}", networks, re.M)


def services() -> dict[str, str]:
    """The text of each service in compose."""
    text = (DEPLOY / "compose.yaml").read_text().partition("\nservices:\n")[2].partition("\nnetworks:\n")[0]
    parts = re.split(r"^  ([\w-]+):.*$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_service_has_a_bound_on_memory_and_comes_back() -> None:
    common = (DEPLOY / "compose.yaml").read_text().partition("\nservices:\n")[0]
    for name, text in services().items():
        assert re.search(r"mem_limit: \d", text), name
        assert "restart: " in text or "<<: *app" in text, name
    for line in (
        "read_only: true",
        "cap_drop: [ALL]",
        "no-new-privileges:true",
        "restart: unless-stopped",
        "init: true",
    ):
        assert line in common


def test_who_runs_scripts_of_strangers_is_not_on_the_network_of_the_web_server() -> None:
    found = services()

    assert "networks: [data, outside]" in found["worker-browser"]
    assert "networks: [data]\n" in found["ticker"]
    assert [name for name, text in found.items() if "front" in text and "networks" in text] == ["web"]
    assert [name for name, text in found.items() if "ports:" in text] == ["web"]
    assert '"127.0.0.1:8000:8000"' in found["web"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_are_hardened_and_stop_the_main_process_first(path: Path) -> None:
    text = path.read_text()

    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "CapabilityBoundingSet=\n",
        "User=tideline",
        "MemoryMax=",
    ):
        assert line in text
    if "Type=oneshot" not in text:
        assert "KillMode=mixed" in text  # the group at once would end workers before they give their pages back
        assert "Restart=always" in text
        assert re.search(r"TimeoutStopSec=\d+", text)
    assert "WatchdogSec" not in text  # none of our processes feeds one


def test_systemd_finds_no_fault_in_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not installed")
    for path in (DEPLOY / "systemd").iterdir():
        text = re.sub(r"/srv/tideline/\.venv/bin/\w+", "/bin/true", path.read_text())
        (tmp_path / path.name).write_text(text)
    shutil.copy(tmp_path / "tideline-worker@.service", tmp_path / "tideline-worker@http.service")
    shutil.copy(tmp_path / "tideline-worker@.service", tmp_path / "tideline-worker@browser.service")
    names = sorted(
        path.name for path in tmp_path.iterdir() if path.suffix in {".service", ".target"} and "@." not in path.name
    )

    done = subprocess.run(
        [analyze, "verify", "--man=no", "--generators=no", *(f"./{name}" for name in names)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_gunicorn_knows_every_setting() -> None:
    known = importlib.import_module("gunicorn.config").KNOWN_SETTINGS

    named = set(re.findall(r"^(\w+) = ", (DEPLOY / "gunicorn.conf.py").read_text(), re.M))

    assert named
    assert named <= {setting.name for setting in known}


def test_nginx_keeps_the_two_hosts_apart() -> None:
    text = (DEPLOY / "nginx/tideline.conf").read_text()
    app, frames = (part for part in text.split("\nserver {\n")[2:4])

    assert text.count("{") == text.count("}")
    assert "location /metrics { deny all; }" in app
    for part in (app, frames):
        assert "proxy_set_header X-Forwarded-For $remote_addr;" in part  # PROXY_COUNT=1 believes exactly this one
        assert "proxy_set_header X-Forwarded-Proto $scheme;" in part
        assert "proxy_set_header Host $host;" in part
    assert "location / { return 404; }" in frames
    assert 'proxy_set_header Cookie "";' in frames
    assert "add_header" not in text
