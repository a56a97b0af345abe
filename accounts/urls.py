"""Addresses of sign-in and a person's own page."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign_in"),
    path("sign-in/again/", views.SignInAgain.as_view(), name="sign_in_again"),
    path("sign-out/", views.SignOut.as_view(), name="sign_out"),
    path("me/", views.me, name="me"),
    path("me/profile/", views.change_profile, name="change_profile"),
    path("me/password/", views.change_password, name="change_password"),
    path("me/tokens/", views.make_token, name="make_token"),
    path("me/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
