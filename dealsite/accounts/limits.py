"""How often things may be tried.

A stranger who guesses is stopped after a few tries from one address and one name. The limit on a name
over all addresses is wide and short, so that it slows guessing by many machines but keeps the owner
out for minutes at most; and it does not hold at all on a device where they have signed in before.
"""

from datetime import datetime, timedelta

from dealsite.data.people import throttles
from dealsite.data.people.throttles import Limit
from dealsite.data.table.errors import TooManyRequests

# Failed sign-ins
NAME_AT_ADDRESS = Limit("sign-in", 5, timedelta(minutes=15))
ADDRESS = Limit("sign-in-address", 30, timedelta(minutes=15))
NAME = Limit("sign-in-name", 40, timedelta(minutes=5))
DEVICE = Limit("sign-in-device", 10, timedelta(minutes=15))

# Others
PASSWORD = Limit(
    "password", 10, timedelta(minutes=15)
)  # wrong ones where a signed-in user is asked for theirs
CODE = Limit("code", 5, timedelta(minutes=15))  # wrong codes of the second factor,
CODE_DAY = Limit("code-day", 20, timedelta(days=1))  # so few of a million that nobody guesses one in years
SIGN_UP = Limit("sign-up", 30, timedelta(hours=1))  # forms sent, by address
RESET_ADDRESS = Limit("reset-address", 20, timedelta(hours=1))  # reset links asked for, by address
RESET_EMAIL = Limit("reset-email", 3, timedelta(hours=1))  # and by mailbox, so that nobody's is flooded
CONFIRMATION = Limit("confirmation", 5, timedelta(hours=1))  # links to confirm a mailbox, by mailbox

Try = tuple[Limit, str]


class Tries:
    """Tries that were counted before they were made; `succeeded` gives them back."""

    def __init__(self, counted: list[Try], now: datetime) -> None:
        self.counted, self.now = counted, now

    def succeeded(self) -> None:
        """Give back what was counted: only failures are kept. 1 update each."""
        while self.counted:
            limit, subject = self.counted.pop()
            throttles.undo_attempt(limit, subject, now=self.now)


def count(*tries: Try, now: datetime) -> Tries:
    """Count one try with several limits, or with none of them and raise TooManyRequests. 1 update each."""
    counted = Tries([], now)
    for limit, subject in tries:
        try:
            throttles.count(limit, subject, now=now)
        except TooManyRequests:
            counted.succeeded()
            raise
        counted.counted.append((limit, subject))
    return counted
