"""Every address the product answers."""

from django.contrib import admin
from django.urls import include, path

from monitoring.sample.views import sample_page

urlpatterns = [
    path("admin/", admin.site.urls),
    path("sample/<path:slug>/", sample_page, name="sample-page"),
    path("", include("review.urls")),
]
