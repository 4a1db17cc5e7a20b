"""The second factor: codes of an authenticator app (TOTP, RFC 6238), recovery codes for who has lost it, and passkeys.

Secrets are encrypted and recovery codes hashed under keys made from SECRET_KEY, so that a copy of the
table alone signs nobody in. SECRET_KEY_FALLBACKS are tried, too; whoever signs in by one has their secret sealed again.

A passkey (WebAuthn) signs for this site's name and origin only, after its device has asked who holds it: so it is both
factors. What it signs is random, stands in a signed cookie of that browser for five minutes, and is good once.
"""

import base64
import hashlib
import hmac
import ipaddress
import secrets
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pyotp
import segno
import structlog
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.forms import Form
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, parse_authentication_credential_json
from webauthn.helpers.exceptions import InvalidAuthenticationResponse, WebAuthnException
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from dealsite.accounts import limits, passwords, requests
from dealsite.accounts.requests import Signed, UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.people import profiles, throttles, two_factor, users
from dealsite.data.people.two_factor import FactorUse, Passkey, TwoFactor
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict, TooManyRequests
from dealsite.data.table.ids import new_ulid

DRIFT = 1  # steps of 30 seconds by which a clock may be off
DIGITS = 6
RECOVERY_CODES = 10
RECOVERY_DIGITS = 12
SET_UP_TIME = timedelta(minutes=30)
MANY_CODES = gettext_lazy(
    "Too many wrong codes for this account. Please wait %(time)s. If they were not yours, somebody knows "
    "your password: set a new one."
)
SALT = "dealsite.accounts.second_factor"
PAGE = 100  # users that are looked at together
LONGEST_ID = 1023  # bytes, as the standard has it
MADE_BY = AuthenticatorSelectionCriteria(
    resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
)
WRONG = (WebAuthnException, Conflict, ValueError, RecursionError)

logger = structlog.get_logger(__name__)


def new_secret() -> str:
    """Return a random secret, 160 bits in base32, as authenticator apps take it."""
    return pyotp.random_base32()


def seal(username: str, secret: str) -> str:
    """Encrypt a user's secret."""
    return _ciphers()[0].encrypt(f"{username}:{secret}".encode()).decode()


def unseal(
    username: str, sealed: str, *, within: timedelta | None = None, keys: int | None = None
) -> str | None:
    """Return the secret that was sealed for a user, at most so long ago, by the newest keys; None for anything else."""
    ttl = None if within is None else int(within.total_seconds())
    try:
        owner, _, secret = MultiFernet(_ciphers()[:keys]).decrypt(sealed, ttl).decode().partition(":")
    except (InvalidToken, ValueError):
        return None
    return secret if owner == username else None


def unreadable(*, most: int | None = None, then: Callable[[], object] = lambda: None) -> int:
    """Count the secrets of apps that open under no key of the site, of `most` users at least; `then` is called often.

    1 scan + 2 batch gets for each 100 users.
    """
    found, seen, after = 0, 0, None
    while True:
        page = users.page(after=after, limit=PAGE)
        factors = two_factor.get_many(user.username for user in page.rows if user.two_factor)
        found += sum(_is_unreadable(factor) for factor in factors)
        seen, after = seen + PAGE, page.after
        then()
        if after is None or (most and seen >= most):
            return found


def _is_unreadable(factor: TwoFactor) -> bool:
    return bool(factor.secret) and unseal(factor.username, factor.secret) is None


def qr_code(username: str, secret: str) -> SafeString:
    """Return an SVG that an authenticator app reads; no style in it."""
    look = {"scale": 5, "border": 2, "dark": "#000", "light": "#fff", "svgclass": "mx-auto max-w-full"}
    code = segno.make(address(username, secret), error="m")
    # Made here, of modules only: nothing that a user typed stands in it as text.
    return SafeString(code.svg_inline(**look, lineclass=None, omitsize=False))


def address(username: str, secret: str) -> str:
    """Return the otpauth: address of a secret, which an app on the same device can be opened with."""
    totp = pyotp.TOTP(secret, digits=DIGITS)
    return totp.provisioning_uri(name=username, issuer_name=settings.DEALSITE_NAME)


def step_of(secret: str, code: str, now: datetime) -> int | None:
    """Return the number of the 30 seconds whose code this is, None if it is of none around now."""
    totp = pyotp.TOTP(secret, digits=DIGITS)
    this = totp.timecode(now)
    for step in range(this - DRIFT, this + DRIFT + 1):
        if hmac.compare_digest(totp.generate_otp(step).encode(), code.encode()):
            return step
    return None


def new_recovery_codes(username: str) -> tuple[list[str], list[str]]:
    """Return ten codes of 40 bits, in digits, for every keyboard: 4029-1183-7765; and their hashes."""
    numbers = [f"{secrets.randbelow(10**RECOVERY_DIGITS):0{RECOVERY_DIGITS}d}" for _ in range(RECOVERY_CODES)]
    codes = ["-".join((text[:4], text[4:8], text[8:])) for text in numbers]
    return codes, [recovery_hash(username, code) for code in codes]


def recovery_hash(username: str, code: str, *, key: str = "") -> str:
    """Return what is stored of a recovery code; without the site's key nobody can try all numbers against it."""
    text = f"{username}:{plain(code)}".encode()
    return hmac.new(_derived(key or settings.SECRET_KEY, "recovery"), text, "sha256").hexdigest()


def plain(code: str) -> str:
    """Return a code as typed without its spaces and dashes; its digits may be full-width."""
    return "".join(c for c in unicodedata.normalize("NFKC", code) if c not in " -\u2010\u2011\u2013")


def is_proved(request: UserRequest, form: Form, *, use: Callable[[FactorUse], None] = two_factor.use) -> bool:
    """Tell whether a form holds the user's password and, where they have a factor, a code, or else a passkey."""
    account = request.user.account
    if not form.cleaned_data.get("passkey") and not passwords.is_confirmed(request, form):
        return False
    return not account.two_factor or passes(request, account, form, now=timezone.now(), use=use)


def passes(
    request: HttpRequest,
    user: User,
    form: Form,
    *,
    now: datetime,
    use: Callable[[FactorUse], None] = two_factor.use,
) -> bool:
    """Tell whether a form's `code` is a good one of a user, or its passkey theirs, and `use` it; else it says so.

    TooManyRequests after some tries. 1 get + 1 transaction, or `use`, and 3 updates that count the try.
    """
    # By the user, whatever the device: who knows the password could make as many devices as they like. By their
    # password, too, so that a new one ends what a guesser has used up; that helps once a day, lest it helps guessers.
    with_this = f"{user.username} {user.password}"
    by_user = (("code", with_this), ("code-day", with_this), ("code-user-day", user.username))
    try:
        tries = limits.count(*by_user, request=request, now=now, username=user.username)
    except TooManyRequests as error:
        wait = {"time": throttles.in_words(error.retry_after)}
        raise TooManyRequests(MANY_CODES % wait, retry_after=error.retry_after) from error
    factor = two_factor.get(user.username)
    if factor is None or factor.id != user.two_factor:
        form.add_error("code", _("Your account was changed elsewhere meanwhile. Sign in again."))
        return False
    used = _use_of(request, user, factor, form, now)
    if used is None:
        return False
    try:
        use(_sealed_again(used, factor))
    except Conflict as error:
        if form.cleaned_data.get("passkey"):
            _refuse(request, form, user.username, error)
        else:
            form.add_error("code", str(error))
        return False
    tries.succeeded()
    return True


def _use_of(
    request: HttpRequest, user: User, factor: TwoFactor, form: Form, now: datetime
) -> FactorUse | None:
    """Return what uses up the code or passkey of a form; None if it is not right, which the form then says."""
    if form.cleaned_data.get("passkey"):
        try:
            credential = parse_authentication_credential_json(form.cleaned_data["passkey"])
            return _use_of_passkey(request, credential, factor, now)
        except WRONG as error:
            _refuse(request, form, factor.username, error)
            return None
    used = _found(user, factor, plain(form.cleaned_data["code"]), now)
    if used is None:
        note(request, "code_failed", username=user.username)
        wrong = _("This code is not right. Enter the one that your app shows now, or a recovery code.")
        if _is_unreadable(factor):
            logger.error("second_factor_unreadable", username=user.username)
            wrong = _(
                "This site cannot check the codes of your app any more: the key that it kept them under is gone, and "
                "with it the recovery codes of then. Use a passkey, or ask an admin to turn your second factor off."
            )
        form.add_error("code", wrong)
    return used


def _sealed_again(used: FactorUse, factor: TwoFactor) -> FactorUse:
    """Have what uses up a code or passkey also seal the app's secret under the newest key, if an older one did."""
    secret = unseal(factor.username, factor.secret)
    if secret is None or unseal(factor.username, factor.secret, keys=1):
        return used
    return two_factor.sealing(used, factor, seal(factor.username, secret))


def _found(user: User, factor: TwoFactor, code: str, now: datetime) -> FactorUse | None:
    if len(code) == RECOVERY_DIGITS:
        for key in _site_keys():
            code_hash = recovery_hash(user.username, code, key=key)
            if any(hmac.compare_digest(code_hash, known) for known in factor.recovery):
                return two_factor.by_recovery_code(user, factor, code_hash, now=now)
        return None
    secret = unseal(user.username, factor.secret)
    step = step_of(secret, code, now) if secret else None
    return two_factor.by_code(factor, step) if step is not None else None


def _site_keys() -> list[str]:
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def _ciphers() -> list[Fernet]:
    return [Fernet(base64.urlsafe_b64encode(_derived(key, "secret"))) for key in _site_keys()]


def _derived(key: str, use: str) -> bytes:
    """Return a key of 256 bits for one use, made from a key of the site."""
    return hmac.new(key.encode(), f"{SALT}.{use}".encode(), hashlib.sha256).digest()


def _site_id() -> str:
    """Return the host name that passkeys of this site are bound to."""
    return urlsplit(settings.DEALSITE_URL).hostname or ""


def passkeys_are_possible() -> bool:
    """Tell whether the site has a name: browsers keep no passkeys for an IP address."""
    try:
        ipaddress.ip_address(_site_id())
    except ValueError:
        return True
    return False


def passkey_question() -> tuple[str, Signed]:
    """Return what a browser needs to have something signed, in JSON, and what its cookie is to hold."""
    options = generate_authentication_options(
        rp_id=_site_id(), user_verification=UserVerificationRequirement.REQUIRED
    )
    return options_to_json(options), Signed("", bytes_to_base64url(options.challenge))


def new_passkey_question(user: User, factor: TwoFactor | None, *, now: datetime) -> tuple[str, Signed]:
    """Return what a browser needs to make a passkey, in JSON, and what its cookie is to hold."""
    factor_id, others = (factor.id, factor.passkeys) if factor else (new_ulid(now), ())
    options = generate_registration_options(
        rp_id=_site_id(),
        rp_name=settings.DEALSITE_NAME,
        user_id=factor_id.encode(),
        user_name=user.username,
        user_display_name=user.name,
        authenticator_selection=MADE_BY,
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential)) for one in others
        ],
    )
    said = f"{bytes_to_base64url(options.challenge)}.{factor_id}.{user.two_factor}"
    return options_to_json(options), Signed(user.username, said)


def made_passkey(
    request: HttpRequest, user: User, answer: str, *, name: str, now: datetime
) -> tuple[Passkey, str, str] | None:
    """Return the passkey that a browser has made, with its factor's id and the challenge; None for anything else.

    Conflict where the user has another factor by now than when they were asked for it.
    """
    asked = requests.PASSKEY.read(request)
    try:
        challenge, factor_id, had = asked.text.split(".") if asked else ("", "", "")
        if asked is None or asked.username != user.username:
            raise InvalidAuthenticationResponse("this browser was not asked for a new one")
        verified = verify_registration_response(
            credential=answer,
            expected_challenge=base64url_to_bytes(challenge),
            expected_rp_id=_site_id(),
            expected_origin=settings.DEALSITE_URL,
            require_user_verification=True,
        )
        if len(verified.credential_id) > LONGEST_ID:
            raise InvalidAuthenticationResponse("its id is too long")
    except WRONG as error:
        note(request, "passkey_failed", username=user.username, detail=str(error)[:100])
        return None
    if had != user.two_factor:
        raise profiles.changed()
    credential, public_key = (
        bytes_to_base64url(part) for part in (verified.credential_id, verified.credential_public_key)
    )
    passkey = Passkey(new_ulid(now), name, credential, public_key, verified.sign_count)
    return passkey, factor_id, challenge


def user_of_passkey(request: HttpRequest, form: Form, now: datetime) -> User | None:
    """Return the user whose passkey has signed, else say so in the form; TooManyRequests.

    1 get + 1 batch get + 1 transaction, and 2 updates that count the try.
    """
    tries = limits.count(limits.stranger(request), request=request, now=now)
    username = ""
    try:
        credential = parse_authentication_credential_json(form.cleaned_data["passkey"])
        found = two_factor.find_passkey((credential.response.user_handle or b"").decode("ascii"))
        if found is None:
            raise InvalidAuthenticationResponse("it is nobody's")
        username = found[0].username
        two_factor.use(_use_of_passkey(request, credential, found[1], now))
    except WRONG as error:
        _refuse(request, form, username, error)
        return None
    tries.succeeded()
    return found[0]


def _use_of_passkey(
    request: HttpRequest, credential: AuthenticationCredential, factor: TwoFactor, now: datetime
) -> FactorUse:
    """Check what a passkey has signed, and return what uses it up; one of WRONG."""
    asked, handle = requests.PASSKEY.read(request), credential.response.user_handle
    if asked is None:
        raise InvalidAuthenticationResponse("this browser was not asked")
    passkey = next((one for one in factor.passkeys if one.credential == credential.id), None)
    if passkey is None or handle not in (None, factor.id.encode()):
        raise InvalidAuthenticationResponse("it is not this user's")
    verified = verify_authentication_response(
        credential=credential,
        expected_challenge=base64url_to_bytes(asked.text),
        expected_rp_id=_site_id(),
        expected_origin=settings.DEALSITE_URL,
        credential_public_key=base64url_to_bytes(passkey.public_key),
        credential_current_sign_count=0,  # compared below, once the signature is known to be good
        require_user_verification=True,
    )
    count = verified.new_sign_count
    if (count or passkey.sign_count) and count <= passkey.sign_count:
        raise InvalidAuthenticationResponse("it has counted backwards: there may be a copy of it")
    return two_factor.by_passkey(factor, passkey, sign_count=count, challenge=asked.text, now=now)


def _refuse(request: HttpRequest, form: Form, username: str, error: Exception) -> None:
    note(request, "passkey_failed", username=username, detail=str(error)[:100])
    form.add_error(None, _("This passkey did not work. Try again, or sign in another way."))
