"""Which Chromium the end-to-end tests drive, and how."""

from __future__ import annotations

import os
import shutil
from typing import Any

KNOWN = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium_path() -> str:
    """The configured browser, else one on the PATH; empty where only Playwright's own may exist."""
    if configured := os.environ.get("TIDELINE_CHROMIUM", ""):
        return configured
    return next((path for name in KNOWN if (path := shutil.which(name))), "")


def launch_options() -> dict[str, Any]:
    """Options for Playwright's `launch`; Chromium refuses its own sandbox as root."""
    options: dict[str, Any] = {"args": ["--disable-dev-shm-usage"]}
    if path := chromium_path():
        options["executable_path"] = path
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options["args"].append("--no-sandbox")
    return options
