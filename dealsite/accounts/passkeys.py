"""Passkeys (WebAuthn): what a browser is asked to have signed, and whether it was.

A passkey signs for this site's name and origin only, after its device has asked who holds it: so it is both factors.
What it signs is random, stands in a signed cookie of that browser for five minutes, and is good once.
"""

import ipaddress
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.forms import Form
from django.http import HttpRequest
from django.utils.translation import gettext as _
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    parse_authentication_credential_json,
)
from webauthn.helpers.exceptions import InvalidAuthenticationResponse, WebAuthnException
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from dealsite.accounts import cookies, limits
from dealsite.accounts.cookies import Signed
from dealsite.accounts.security_log import note
from dealsite.data.people import passkeys, two_factor
from dealsite.data.people.two_factor import FactorUse, Passkey, TwoFactor
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import new_ulid

LONGEST_ID = 1023  # bytes, as the standard has it
MADE_BY = AuthenticatorSelectionCriteria(
    resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
)
WRONG = (WebAuthnException, Conflict, ValueError, RecursionError)


def site_id() -> str:
    """Return the host name that passkeys of this site are bound to."""
    return urlsplit(settings.DEALSITE_URL).hostname or ""


def are_possible() -> bool:
    """Tell whether the site has a name; browsers keep no passkeys for an IP address."""
    try:
        ipaddress.ip_address(site_id())
    except ValueError:
        return True
    return False


def question() -> tuple[str, Signed]:
    """Return what a browser needs to have something signed, in JSON, and what its cookie is to hold."""
    options = generate_authentication_options(
        rp_id=site_id(), user_verification=UserVerificationRequirement.REQUIRED
    )
    return options_to_json(options), Signed("", bytes_to_base64url(options.challenge))


def new_question(user: User, factor: TwoFactor | None, *, now: datetime) -> tuple[str, Signed]:
    """Return what a browser needs to make a passkey, in JSON, and what its cookie is to hold."""
    factor_id, others = (factor.id, factor.passkeys) if factor else (new_ulid(now), ())
    options = generate_registration_options(
        rp_id=site_id(),
        rp_name=settings.DEALSITE_NAME,
        user_id=factor_id.encode(),
        user_name=user.username,
        user_display_name=user.name,
        authenticator_selection=MADE_BY,
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential)) for one in others
        ],
    )
    signed = Signed(user.username, f"{bytes_to_base64url(options.challenge)}.{factor_id}")
    return options_to_json(options), signed


def made(
    request: HttpRequest, user: User, answer: str, *, name: str, now: datetime
) -> tuple[Passkey, str, str] | None:
    """Return the passkey that a browser has made, with its factor's id and the challenge; None for anything else."""
    asked = cookies.PASSKEY.read(request)
    challenge, _, factor_id = asked.text.partition(".") if asked else ("", "", "")
    try:
        if asked is None or asked.username != user.username:
            raise InvalidAuthenticationResponse("this browser was not asked for a new one")
        verified = verify_registration_response(
            credential=answer,
            expected_challenge=base64url_to_bytes(challenge),
            expected_rp_id=site_id(),
            expected_origin=settings.DEALSITE_URL,
            require_user_verification=True,
        )
        if len(verified.credential_id) > LONGEST_ID:
            raise InvalidAuthenticationResponse("its id is too long")
    except WRONG as error:
        note(request, "passkey_failed", username=user.username, detail=str(error)[:100])
        return None
    credential, public_key = (
        bytes_to_base64url(part) for part in (verified.credential_id, verified.credential_public_key)
    )
    passkey = Passkey(new_ulid(now), name, credential, public_key, verified.sign_count)
    return passkey, factor_id, challenge


def user_of(request: HttpRequest, form: Form, *, now: datetime) -> User | None:
    """Return the user whose passkey has signed, else say so in the form; TooManyRequests.

    1 get + 1 batch get + 1 transaction, and 2 updates that count the try.
    """
    tries = limits.count(limits.stranger(request), request=request, now=now)
    username = ""
    try:
        credential = parse_authentication_credential_json(form.cleaned_data["passkey"])
        found = passkeys.find((credential.response.user_handle or b"").decode("ascii"))
        if found is None:
            raise InvalidAuthenticationResponse("it is nobody's")
        username = found[0].username
        two_factor.use(_use_of(request, credential, found[1], now))
    except WRONG as error:
        refuse(request, form, username, error)
        return None
    tries.succeeded()
    return found[0]


def use_of(request: HttpRequest, factor: TwoFactor, form: Form, *, now: datetime) -> FactorUse | None:
    """Return what uses up what a passkey of a factor has signed; None if it has not, which the form then says."""
    try:
        credential = parse_authentication_credential_json(form.cleaned_data["passkey"])
        return _use_of(request, credential, factor, now)
    except WRONG as error:
        refuse(request, form, factor.username, error)
        return None


def _use_of(
    request: HttpRequest, credential: AuthenticationCredential, factor: TwoFactor, now: datetime
) -> FactorUse:
    """Check what a passkey has signed, and return what uses it up; one of WRONG."""
    asked, handle = cookies.PASSKEY.read(request), credential.response.user_handle
    if asked is None:
        raise InvalidAuthenticationResponse("this browser was not asked")
    passkey = next((one for one in factor.passkeys if one.credential == credential.id), None)
    if passkey is None or handle not in (None, factor.id.encode()):
        raise InvalidAuthenticationResponse("it is not this user's")
    verified = verify_authentication_response(
        credential=credential,
        expected_challenge=base64url_to_bytes(asked.text),
        expected_rp_id=site_id(),
        expected_origin=settings.DEALSITE_URL,
        credential_public_key=base64url_to_bytes(passkey.public_key),
        credential_current_sign_count=0,  # compared below, once the signature is known to be good
        require_user_verification=True,
    )
    count = verified.new_sign_count
    if (count or passkey.sign_count) and count <= passkey.sign_count:
        raise InvalidAuthenticationResponse("it has counted backwards: there may be a copy of it")
    return passkeys.by_passkey(factor, passkey, sign_count=count, challenge=asked.text, now=now)


def refuse(request: HttpRequest, form: Form, username: str, error: Exception) -> None:
    note(request, "passkey_failed", username=username, detail=str(error)[:100])
    form.add_error(None, _("This passkey did not work. Try again, or sign in another way."))
