"""What boto3 knows of Amazon: who asks, where its services are, and which certificates are trusted.

An engine on this machine needs none of it, and its processes not the 18 MB and the third of a second that boto3 takes:
this module is imported where it is used.
"""

from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, NoCredentialsError
from botocore.httpsession import get_cert_path

from .errors import NotSent, Refused


class Amazon:
    """A session of boto3's in one region, or at another endpoint. Raises Refused where credentials cannot be read."""

    def __init__(self, endpoint_url: str, region: str) -> None:
        self._url = endpoint_url
        try:
            self._session = boto3.Session(region_name=region)
            self._credentials = self._session.get_credentials()
        except BotoCoreError as error:  # half a key, or a profile that is not there
            raise _refused(error) from error

    def credentials(self) -> Any:
        """Return the access key, secret key and token of now. Raises Refused if there are none, NotSent if not yet."""
        if self._credentials is None:
            raise _refused(NoCredentialsError())
        try:
            return self._credentials.get_frozen_credentials()
        except BotoCoreError as error:  # they expire, and where they come from gives no others
            raise NotSent(f"No credentials: {error}") from error

    def url(self, service: str) -> str:
        """Return where a service is; at Amazon streams are not where the tables are."""
        return self._url or str(self._session.client(service).meta.endpoint_url)


def _refused(error: BotoCoreError) -> Refused:
    return Refused(type(error).__name__, str(error), [])


def certificates() -> str:
    """Return the file of the certificates that are trusted."""
    path: str = get_cert_path(True)
    return path
