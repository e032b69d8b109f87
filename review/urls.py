"""Addresses of the human side."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from review.views import (
    calibration,
    change,
    decide,
    fields,
    fleet,
    language,
    monitors,
    overdue,
    preferences,
    queue,
    sample,
    sites,
    today,
    vantages,
)
from review.views import verdicts as verdict_log

urlpatterns: list[URLPattern | URLResolver] = [
    path("", today.today, name="today"),
    path("queue/", queue.queue_page, name="queue"),
    path("queue/count/", queue.queue_count, name="queue_count"),
    path("queue/bulk/", queue.bulk, name="bulk"),
    path("queue/views/", queue.save_view, name="save_view"),
    path("queue/undo/", queue.undo_batch, name="undo_batch"),
    path("c/<int:pk>/", change.change_page, name="change"),
    path("c/<int:pk>/decide/", decide.decide, name="decide"),
    path("c/<int:pk>/note/", decide.note, name="note"),
    path("c/<int:pk>/evidence/", change.evidence, name="evidence"),
    path("c/<int:pk>/<str:side>.png", change.screenshot, name="screenshot"),
    path("s/<int:pk>/<str:kind>/", change.picture, name="picture"),
    path("v/<int:pk>/reason/", decide.give_reason, name="give_reason"),
    path("monitors/", monitors.monitor_list, name="monitors"),
    path("m/<int:pk>/", monitors.monitor_page, name="monitor"),
    path("m/<int:pk>/check/", monitors.check_now, name="check_now"),
    path("m/<int:pk>/calibrate/", monitors.calibrate_monitor, name="calibrate_monitor"),
    path("m/<int:pk>/vantages/", vantages.vantages_page, name="vantages"),
    path("sites/", sites.site_list, name="sites"),
    path("fleet/", fleet.fleet_page, name="fleet"),
    path("fleet/overdue/", overdue.overdue, name="overdue"),
    path("verdicts/", verdict_log.verdict_log, name="verdicts"),
    path("fields/", fields.field_list, name="fields"),
    path("fields.csv", fields.field_csv, name="fields_csv"),
    path("calibration/", calibration.calibrations, name="calibrations"),
    path("calibration/<slug:slug>/", calibration.calibration_page, name="calibration"),
    path("calibration/<slug:slug>/propose/", calibration.propose, name="calibration_propose"),
    path("calibration/<slug:slug>/apply/", calibration.apply, name="calibration_apply"),
    path("me/", preferences.preferences_page, name="preferences"),
    path("me/theme/", preferences.theme, name="theme"),
    path("language/", language.language, name="language"),
    path("workspace/sample/remove/", sample.remove_sample, name="remove_sample"),
    path("", include("review.urls_accounts")),
    path("", include("review.urls_mail")),
]
