"""Addresses of signing in and of passwords."""

from __future__ import annotations

from django.contrib.auth import views
from django.urls import path

from review.views import accounts

urlpatterns = [
    path("login/", accounts.SignIn.as_view(), name="login"),
    path("logout/", views.LogoutView.as_view(), name="logout"),
    path("password/", accounts.PasswordMail.as_view(), name="password_reset"),
    path("password/sent/", views.PasswordResetDoneView.as_view(), name="password_reset_done"),
    path("password/<uidb64>/<token>/", views.PasswordResetConfirmView.as_view(), name="password_reset_confirm"),
    path("password/saved/", views.PasswordResetCompleteView.as_view(), name="password_reset_complete"),
]
