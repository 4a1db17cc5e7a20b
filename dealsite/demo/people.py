"""Who can sign in to the demo."""

from dataclasses import dataclass

EMAIL_DOMAIN = "demo.example"


@dataclass(frozen=True)
class Person:
    """A demo account; the password is for an engine of one's own only."""

    username: str
    password: str
    roles: tuple[str, ...] = ()

    @property
    def email(self) -> str:
        return f"{self.username.lower()}@{EMAIL_DOMAIN}"


# The first one dates all demo content, the last one tells that all of it is there.
PEOPLE = (
    Person("Ada", "lanterns-at-noon", ("admin",)),
    Person("Mara", "seven-quiet-trams", ("editor",)),
    Person("Jonas", "paper-boats-drift", ("editor", "back office")),
    Person("Sam", "market-day-morning"),
    Person("Lena", "orchard-gate-open"),
    Person("Tomas", "slow-river-ferry"),
    Person("Yuki", "winter-pear-jam"),
)
ADMIN, EDITOR, SECOND_EDITOR, SHOPPER = PEOPLE[:4]
SHOPPERS = tuple(person for person in PEOPLE if not person.roles)
PACKER = SECOND_EDITOR  # who works off the orders
SIGN_INS = [
    ("editor", EDITOR.username, EDITOR.password),
    ("back office", SECOND_EDITOR.username, SECOND_EDITOR.password),
    ("admin", ADMIN.username, ADMIN.password),
    ("shopper", SHOPPER.username, SHOPPER.password),
]
