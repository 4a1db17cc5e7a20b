"""The addresses under /account/."""

from django.urls import path

from dealsite.accounts import (
    inbox,
    interests,
    password,
    password_reset,
    profile,
    sessions,
    sign_in,
    sign_up,
    two_factor,
)

urlpatterns = [
    path("", profile.account, name="account"),
    path("sign-up/", sign_up.sign_up, name="sign_up"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/code/", sign_in.sign_in_code, name="sign_in_code"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("profile/", profile.edit_profile, name="edit_profile"),
    path("password/", password.change_password, name="change_password"),
    path("password-reset/", password_reset.reset_password, name="reset_password"),
    path("password-reset/sent/", password_reset.reset_password_sent, name="reset_password_sent"),
    path("password-reset/new/", password_reset.new_password, name="new_password"),
    path(
        "password-reset/<str:username>/<str:token>/",
        password_reset.follow_reset_link,
        name="follow_reset_link",
    ),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/end/", sessions.end_session, name="end_session"),
    path("sessions/end-others/", sessions.end_other_sessions, name="end_other_sessions"),
    path("two-factor/", two_factor.two_factor, name="two_factor"),
    path("two-factor/set-up/", two_factor.set_up_two_factor, name="set_up_two_factor"),
    path("two-factor/recovery-codes/", two_factor.renew_recovery_codes, name="renew_recovery_codes"),
    path("two-factor/off/", two_factor.turn_off_two_factor, name="turn_off_two_factor"),
    path("messages/", inbox.inbox, name="inbox"),
    path("messages/badge/", inbox.unread_badge, name="unread_badge"),
    path("messages/read/", inbox.mark_all_read, name="mark_all_read"),
    path("messages/settings/", interests.message_settings, name="message_settings"),
    path("messages/settings/hot-deals/", interests.mute_hot_deals, name="mute_hot_deals"),
    path("messages/settings/all/", interests.mute_all, name="mute_all"),
    path("messages/<str:message_id>/", inbox.open_message, name="open_message"),
    path("messages/<str:message_id>/read/", inbox.mark_read, name="mark_read"),
    path("messages/<str:message_id>/delete/", inbox.delete_message, name="delete_message"),
    path("likes/", interests.likes, name="likes"),
    path("watching/", interests.watching, name="watching"),
    path("watching/mute/", interests.mute_watch, name="mute_watch"),
    path("delete/", profile.delete_account, name="delete_account"),
]
