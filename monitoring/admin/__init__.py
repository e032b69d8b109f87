"""Configuration in Django admin: what is watched, how it is compared, and the evidence to read."""

from monitoring.admin import evidence, monitor, page_type, places, rules

__all__ = ["evidence", "monitor", "page_type", "places", "rules"]
