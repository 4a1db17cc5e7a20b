"""What a shopper has stands in their account: these pages are tested with the accounts' own fixtures."""

from tests.accounts.conftest import _cheap_passwords, _one_span, ada, browser, hashes

__all__ = ["_cheap_passwords", "_one_span", "ada", "browser", "hashes"]
