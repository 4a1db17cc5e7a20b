"""Brings what pip does not: run by make, with nothing but the standard library."""


class InstallError(Exception):
    """Something is missing that set-up cannot bring; the message says what to install."""
