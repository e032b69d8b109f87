"""Addresses of the frames' host: snapshots, and nothing else."""

from __future__ import annotations

from django.urls import path

from review.views import frame

urlpatterns = [
    path("frame/<str:token>/", frame.frame, name="frame"),
    path("frame/selector/<str:token>/", frame.trial, name="frame_trial"),
]
handler404 = "review.views.frame.nothing"
handler500 = "review.views.frame.broken"
