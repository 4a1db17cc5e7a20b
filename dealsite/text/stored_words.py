"""What the site itself said once and keeps as it was said, in the words of the sources; shown in the reader's language.

The audit log, notes of orders and payments and errors of jobs are the same for all their readers, and outlive the
language of who caused them. What people typed there is shown as it is.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import gettext, gettext_noop

WORDS = (
    # done to deals, drafts, brands, featured lists
    gettext_noop("added"),
    gettext_noop("added with %(count)s others"),
    gettext_noop("as in version %(number)s"),
    gettext_noop("called the link fine"),
    gettext_noop("changed"),
    gettext_noop("changes many deals"),
    gettext_noop("deleted"),
    gettext_noop("deleted for good"),
    gettext_noop("ended"),
    gettext_noop("had the link checked again"),
    gettext_noop("moved to another time"),
    gettext_noop("planned a featured list"),
    gettext_noop("published"),
    gettext_noop("published with %(count)s others"),
    gettext_noop("put a planned list aside"),
    gettext_noop("restored"),
    gettext_noop("scheduled"),
    gettext_noop("scheduled with %(count)s others"),
    gettext_noop("set the featured list"),
    gettext_noop("started"),
    gettext_noop("started with %(count)s others"),
    gettext_noop("undone"),
    # messages, jobs, imports, files
    gettext_noop("asked for a file of orders"),
    gettext_noop("asked for a file of payments"),
    gettext_noop("brought a file"),
    gettext_noop("cancelled"),
    gettext_noop("imported"),
    gettext_noop("paused"),
    gettext_noop("planned"),
    gettext_noop("resumed"),
    gettext_noop("sent"),
    gettext_noop("tried again"),
    gettext_noop("Job %(job)s"),
    gettext_noop("The deal has expired."),
    gettext_noop("The deal was deleted, or moved to another time."),
    gettext_noop("changed a planned list"),
    gettext_noop("cancelled a planned list"),
    gettext_noop("as planned"),
    gettext_noop("kept unpublished changes"),
    gettext_noop("discarded unpublished changes"),
    gettext_noop("brought back unpublished changes"),
    gettext_noop("The plan is gone."),
    gettext_noop("The plan was changed or cancelled."),
    gettext_noop("It was deleted meanwhile."),
    gettext_noop("Others were changing it all the time."),
    gettext_noop("Links are not checked here: DEALSITE_CHECK_LINKS is off."),
    gettext_noop("The deal is gone."),
    # users
    gettext_noop("editor"),
    gettext_noop("back office"),
    gettext_noop("admin"),
    gettext_noop("given the role editor"),
    gettext_noop("given the role back office"),
    gettext_noop("given the role admin"),
    gettext_noop("lost the role editor"),
    gettext_noop("lost the role back office"),
    gettext_noop("lost the role admin"),
    gettext_noop("made new recovery codes"),
    gettext_noop("turned two-factor sign-in off"),
    gettext_noop("turned two-factor sign-in on"),
    # orders and payments
    gettext_noop("placed"),
    gettext_noop("shipped"),
    gettext_noop("delivered"),
    gettext_noop("Thank you: your order is placed"),
    gettext_noop("Your order is on its way"),
    gettext_noop("Your order was delivered"),
    gettext_noop("Your order was cancelled"),
    gettext_noop("The order was cancelled."),
    gettext_noop("Tracking number %(number)s"),
    gettext_noop("American Express ending in %(digits)s"),
    gettext_noop("Another card"),
    gettext_noop("Mastercard ending in %(digits)s"),
    gettext_noop("Visa ending in %(digits)s"),
    gettext_noop("No card is on file for this payment."),
    gettext_noop("Refund asked for: %(reason)s"),
    gettext_noop("To be paid early"),
    gettext_noop("To be tried again"),
    gettext_noop("Your card has insufficient funds."),
    gettext_noop("Your card was declined."),
    gettext_noop("The bank did not take the money back."),
    gettext_noop("pay early"),
    gettext_noop("retry"),
    gettext_noop("change card"),
    gettext_noop("cancel"),
    gettext_noop("refund"),
    # why a question to the lake has no answer
    gettext_noop("A question cannot hold the character NUL."),
    gettext_noop("A question has at most %(most)s characters."),
    gettext_noop("Ask one SELECT at a time."),
    gettext_noop("Ask one SELECT."),
    gettext_noop("Only one SELECT can be asked."),
    gettext_noop("Only one SELECT can be asked: nothing that changes, loads, shows or sets something."),
    gettext_noop("The answer broke off: it needed more memory or room than a question may have."),
    gettext_noop("The function %(name)s cannot be used here."),
    gettext_noop("The function %(name)s cannot be used in FROM."),
    gettext_noop("The lake was being renewed while this was read. Ask again."),
    gettext_noop("There is no table %(name)s. The tables are %(tables)s."),
    gettext_noop("This form of SELECT cannot be used here (%(name)s)."),
    gettext_noop("This form of expression cannot be used here (%(name)s)."),
    gettext_noop("This is nested too deeply."),
    gettext_noop("This is no SQL: %(error)s, in line %(line)s at character %(column)s."),
    gettext_noop("This is no SQL: %(error)s."),
    gettext_noop("This needs more memory than a question may have. Ask for less."),
    gettext_noop(
        "This needs more memory than a question may have. Ask for less: fewer columns or rows, "
        "a shorter span of time, or sums instead of lists."
    ),
    gettext_noop("This question was cancelled."),
    gettext_noop("This took too long and was stopped. Ask for less, or for a shorter span of time."),
    gettext_noop("WITH cannot give the name %(name)s: use letters, digits and underscores."),
    gettext_noop("Write %(name)s(...) with nothing before it."),
    gettext_noop("Write the table %(name)s with nothing before or after it."),
    # the names of fields
    gettext_noop("Brand"),
    gettext_noop("Category"),
    gettext_noop("Deals"),
    gettext_noop("Description"),
    gettext_noop("Expires at"),
    gettext_noop("From"),
    gettext_noop("Headline"),
    gettext_noop("Link"),
    gettext_noop("Live at"),
    gettext_noop("Logo"),
    gettext_noop("Name"),
    gettext_noop("Others"),
    gettext_noop("Picture"),
    gettext_noop("Picture alt"),
    gettext_noop("Price"),
    gettext_noop("Stock"),
    gettext_noop("Text"),
    gettext_noop("Title"),
    gettext_noop("Voucher code"),
    gettext_noop("Was price"),
)


def shown(words: str) -> str:
    """Return what the site said in the language that is spoken now; words that it does not know as they are."""
    if words in WORDS:
        return gettext(words)
    for known, pattern in _patterns():
        if found := pattern.fullmatch(words):
            return gettext(known) % found.groupdict()
    return words


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return those with a value in them, and what finds it."""
    return tuple(
        (known, re.compile(re.sub(r"%\\\((\w+)\\\)s|%\((\w+)\)s", _group, re.escape(known)), re.DOTALL))
        for known in WORDS
        if "%(" in known
    )


def _group(value: re.Match[str]) -> str:
    return f"(?P<{value[1] or value[2]}>.+)"
