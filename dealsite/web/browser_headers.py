"""What a browser may do with an answer, besides what Django's own middleware and the content security policy say."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

# Features that no page of this site uses; a script that got in could not use them either.
DENIED = (
    *("accelerometer", "autoplay", "camera", "clipboard-read", "display-capture", "encrypted-media"),
    *("fullscreen", "geolocation", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer"),
    *("microphone", "midi", "otp-credentials", "payment", "picture-in-picture", "screen-wake-lock", "serial"),
    *("storage-access", "sync-xhr", "usb", "window-management", "xr-spatial-tracking"),
)
# Vouchers and links are copied; passkeys are made and used.
OWN = ("clipboard-write", "publickey-credentials-create", "publickey-credentials-get")
PERMISSIONS = ", ".join([*(f"{name}=()" for name in DENIED), *(f"{name}=(self)" for name in OWN)])


class BrowserHeadersMiddleware:
    """Keeps other sites from loading pages as parts of theirs, and pages from what they need not do.

    Pictures and static files stay as they are: a deal's picture may be shown elsewhere.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_file = response.status_code < 400 and request.path_info.startswith(
            (settings.STATIC_URL, settings.MEDIA_URL)
        )
        if not is_file:
            response.headers.setdefault("Permissions-Policy", PERMISSIONS)
            response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response
