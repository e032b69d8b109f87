"""WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

from monitoring.services import heartbeat  # noqa: E402 - needs the applications

heartbeat.web_started()
