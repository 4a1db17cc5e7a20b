"""The addresses under /account/ of the account itself; those of what a shopper has are in shopping/my/urls.py."""

from django.urls import path

from dealsite.accounts import account, addressing, email_links, sign_in

urlpatterns = [
    path("sign-up/", sign_in.sign_up, name="sign_up"),
    path("sign-in/", sign_in.sign_in, name="sign_in"),
    path("sign-in/code/", sign_in.sign_in_code, name="sign_in_code"),
    path("sign-out/", sign_in.sign_out, name="sign_out"),
    path("profile/", account.edit_profile, name="edit_profile"),
    path("password/", account.change_password, name="change_password"),
    path("password-reset/", email_links.reset_password, name="reset_password"),
    path("password-reset/sent/", email_links.reset_password_sent, name="reset_password_sent"),
    path("password-reset/new/", email_links.new_password, name="new_password"),
    path(
        "password-reset/<str:username>/<str:token>/", email_links.follow_reset_link, name="follow_reset_link"
    ),
    path("email/send/", email_links.send_confirmation, name="send_confirmation"),
    path("email/confirm/", email_links.confirm_email, name="confirm_email"),
    path("email/confirm/<str:token>/", email_links.follow_confirmation_link, name="follow_confirmation_link"),
    path("email/take-back/", email_links.take_back_email, name="take_back_email"),
    path("email/take-back/<str:token>/", email_links.follow_take_back_link, name="follow_take_back_link"),
    path("sessions/", account.sessions, name="sessions"),
    path("sessions/end/", account.end_session, name="end_session"),
    path("sessions/end-others/", account.end_other_sessions, name="end_other_sessions"),
    path("two-factor/", account.two_factor, name="two_factor"),
    path("two-factor/set-up/", account.set_up_two_factor, name="set_up_two_factor"),
    path("two-factor/recovery-codes/", account.renew_recovery_codes, name="renew_recovery_codes"),
    path("two-factor/off/", account.turn_off_two_factor, name="turn_off_two_factor"),
    path("two-factor/passkeys/add/", account.add_passkey, name="add_passkey"),
    path("two-factor/passkeys/remove/", account.remove_passkey, name="remove_passkey"),
    path("passkey/", account.passkey_options, name="passkey_options"),
    path("address-fields/", addressing.address_fields, name="address_fields"),
    path("addresses/", addressing.list_addresses, name="addresses"),
    path("addresses/add/", addressing.add_address, name="add_address"),
    path("addresses/<str:key>/", addressing.edit_address, name="edit_address"),
    path("addresses/<str:key>/remove/", addressing.remove_address, name="remove_address"),
    path("my-data/", account.my_data, name="my_data"),
    path("delete/", account.delete_account, name="delete_account"),
]
