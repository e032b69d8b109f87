"""Every address the product answers."""

from django.contrib import admin
from django.urls import include, path

from monitoring.sample.views import canary_page, sample_page
from review.views.accounts import admin_sign_in

urlpatterns = [
    path("admin/login/", admin_sign_in),
    path("admin/", admin.site.urls),
    path("sample/<path:slug>/", sample_page, name="sample-page"),
    path("canary/<slug:key>/", canary_page, name="canary-page"),
    path("", include("review.urls")),
]

handler500 = "review.views.errors.broken"
