"""Configuration in Django admin: what is watched, how it is compared, and the evidence to read."""

from django.contrib import admin
from django_q.models import Failure, OrmQ, Schedule, Success

from monitoring.admin import evidence, monitor, page_type, places, rules

__all__ = ["evidence", "monitor", "page_type", "places", "rules"]

# Background work is no configuration: a scheduled task names any function to call, and a queued one holds a pickle.
# (Its messages have a page only where the database is the broker.)
admin.site.unregister([model for model in (Failure, OrmQ, Schedule, Success) if admin.site.is_registered(model)])
