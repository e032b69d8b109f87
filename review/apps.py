"""The human side."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ReviewConfig(AppConfig):
    """Verdicts, notes, assignments, digests."""

    name = "review"
    verbose_name = _("Review")

    def ready(self) -> None:
        """Register the clocks of digests and notices, listen for changes and important fields, keep the roles' permissions."""
        from django.db.models.signals import post_migrate

        from monitoring.queueing import periodic
        from monitoring.services.alerts import change_opened, important_field_changed, promise_told
        from monitoring.services.brake import held
        from monitoring.services.watching import alarm_told
        from review.services import promise_mail
        from review.services.accounts import ensure_roles
        from review.services.alarms import tell_alarm, tell_hold
        from review.services.alerts import send_field_alert
        from review.services.routing import assign_new

        periodic("digests", 60, "review.services.digests.tick", when="review.services.digests.any_due")
        periodic("notices", 60, "review.services.notices.tick", when="review.services.notices.any_due")
        periodic(
            "calibrations",
            86_400,
            "review.services.calibrating.tick",
            when="review.services.calibrating.any_automatic",
        )
        held.connect(tell_hold, dispatch_uid="review.holds")
        alarm_told.connect(tell_alarm, dispatch_uid="review.alarms")
        important_field_changed.connect(send_field_alert, dispatch_uid="review.alerts")
        change_opened.connect(assign_new, dispatch_uid="review.routing")
        promise_told.connect(promise_mail.send, dispatch_uid="review.promises")
        post_migrate.connect(ensure_roles, sender=self, dispatch_uid="review.roles")
