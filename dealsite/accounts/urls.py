"""The addresses under /account/ of the account itself; those of what a shopper has are in shopping/my/urls.py."""

from django.urls import path

from dealsite.accounts import (
    email_address,
    my_data,
    own_passkeys,
    password,
    profile,
    sessions,
    sign_in,
    two_factor,
)

urlpatterns = [
    path("", profile.account, name="account"),
    path("sign-up/", sign_in.sign_up, name="sign_up"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/code/", sign_in.sign_in_code, name="sign_in_code"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("profile/", profile.edit_profile, name="edit_profile"),
    path("password/", password.change_password, name="change_password"),
    path("password-reset/", password.reset_password, name="reset_password"),
    path("password-reset/sent/", password.reset_password_sent, name="reset_password_sent"),
    path("password-reset/new/", password.new_password, name="new_password"),
    path("password-reset/<str:username>/<str:token>/", password.follow_reset_link, name="follow_reset_link"),
    path("email/send/", email_address.send_confirmation, name="send_confirmation"),
    path("email/confirm/", email_address.confirm_email, name="confirm_email"),
    path(
        "email/confirm/<str:token>/", email_address.follow_confirmation_link, name="follow_confirmation_link"
    ),
    path("email/take-back/", email_address.take_back_email, name="take_back_email"),
    path("email/take-back/<str:token>/", email_address.follow_take_back_link, name="follow_take_back_link"),
    path("sessions/", sessions.sessions, name="sessions"),
    path("sessions/end/", sessions.end_session, name="end_session"),
    path("sessions/end-others/", sessions.end_other_sessions, name="end_other_sessions"),
    path("two-factor/", two_factor.two_factor, name="two_factor"),
    path("two-factor/set-up/", two_factor.set_up_two_factor, name="set_up_two_factor"),
    path("two-factor/recovery-codes/", two_factor.renew_recovery_codes, name="renew_recovery_codes"),
    path("two-factor/off/", two_factor.turn_off_two_factor, name="turn_off_two_factor"),
    path("two-factor/passkeys/add/", own_passkeys.add_passkey, name="add_passkey"),
    path("two-factor/passkeys/remove/", own_passkeys.remove_passkey, name="remove_passkey"),
    path("passkey/", own_passkeys.passkey_options, name="passkey_options"),
    path("my-data/", my_data.my_data, name="my_data"),
    path("delete/", profile.delete_account, name="delete_account"),
]
