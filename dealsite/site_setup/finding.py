"""What setup_site finds: something that is as it should be, or what is missing and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about a part of the site; `todo` is what to do, '' where all is well.

    Without what `is_needed` the site is not ready; the rest is advice.
    """

    about: str
    text: str
    todo: str = ""
    is_needed: bool = True
