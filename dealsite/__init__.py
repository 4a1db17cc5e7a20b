"""Dealsite: editors publish deals, shoppers see them, one DynamoDB table holds it all."""

import sys

__version__ = "0.2.0"

if sys.version_info < (3, 11):  # noqa: UP036 - whatever is started imports this first, and older ones can read it
    sys.exit(f"Dealsite needs Python 3.11 or newer, and {sys.executable} is {sys.version.split()[0]}.")
