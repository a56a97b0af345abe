"""URLs of sign-in and user settings."""

from django.urls import path

from accounts.views import me, passwords, providers, signing_in

urlpatterns = [
    path("sign-in/", signing_in.SignIn.as_view(), name="sign_in"),
    path("sign-in/again/", signing_in.SignInAgain.as_view(), name="sign_in_again"),
    path("sign-in/with/<slug:key>/", providers.sign_in_with, name="sign_in_with"),
    path("sign-in/with/github/back/", providers.come_back, {"provider_id": "github"}, name="github_callback"),
    path("sign-in/with/<slug:provider_id>/back/", providers.come_back, name="openid_connect_callback"),
    path("sign-in/lost-password/", passwords.lost_password, name="lost_password"),
    path("new-password/<str:token>/", passwords.new_password, name="new_password"),
    path("sign-out/", signing_in.SignOut.as_view(), name="sign_out"),
    path("me/", me.me, name="me"),
    path("me/profile/", me.change_profile, name="change_profile"),
    path("me/password/", me.change_password, name="change_password"),
    path("me/password-links/<int:link_id>/confirm/", me.confirm_link, name="confirm_password_link"),
    path("me/theme/", me.choose_theme, name="choose_theme"),
    path("me/keys/", me.choose_keys, name="choose_keys"),
    path("me/mails/", me.choose_mails, name="choose_mails"),
    path("mails/off/<str:token>/", me.mails_off, name="mails_off"),
    path("me/image-hosts/", me.choose_image_hosts, name="choose_image_hosts"),
    path("me/sessions/end-others/", me.end_other_sessions, name="end_other_sessions"),
    path("me/sessions/<slug:number>/end/", me.end_session, name="end_session"),
    path("me/providers/<slug:key>/connect/", me.connect, name="connect_provider"),
    path("me/providers/<int:account_id>/disconnect/", me.disconnect, name="disconnect_provider"),
    path("me/tokens/", me.make_token, name="make_token"),
    path("me/tokens/<int:token_id>/revoke/", me.revoke_token, name="revoke_token"),
]
