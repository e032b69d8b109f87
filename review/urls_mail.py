"""Addresses that mails link to."""

from django.urls import path

from review.views import digests

urlpatterns = [path("u/<str:token>/", digests.stop, name="digest-stop")]
