"""The local site and its monitors, as the machine side's tests use them."""

from tests.monitoring.conftest import site, watch

__all__ = ["site", "watch"]
