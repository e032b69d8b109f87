"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

from monitoring import limits  # noqa: E402 - needs the applications
from monitoring.services import heartbeat  # noqa: E402

limits.bound_transactions()
heartbeat.web_started()
