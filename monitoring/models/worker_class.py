"""Classes of workers."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class WorkerClass(models.TextChoices):
    """What a worker is for. Each class has a queue of its own."""

    HTTP = "http", _("HTTP")
    BROWSER = "browser", _("browser")
