"""The CMS's pages: which there are, who may open them, the keys that lead there, and where in the menu they stand."""

from dataclasses import dataclass
from functools import cache
from itertools import chain

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Place:
    """A page that search and keys lead to, and most often the menu: found by its title and `words`.

    `shortcut` is what opens it from anywhere: keys one after the other. `short` is its name below an icon.
    `counts`: which of the task counts says what there is to do there.
    """

    url_name: str
    title: str | Promise
    icon: str
    roles: tuple[str, ...]
    shortcut: str = ""
    words: str | Promise = ""
    counts: str = ""
    short: str | Promise = ""

    @property
    def address(self) -> str:
        return reverse(self.url_name)


@dataclass(frozen=True)
class MenuGroup:
    """Places that stand together."""

    title: str | Promise
    places: tuple[Place, ...]


EDITOR, OFFICE, ADMIN = ("editor",), ("back office",), ("admin",)
BOTH = (*EDITOR, *OFFICE)
MENU = (
    MenuGroup(
        "", (Place("cms_home", _("Overview"), "layout-dashboard", BOTH, "g h", _("home start attention")),)
    ),
    MenuGroup(
        _("Catalogue"),
        (
            Place(
                "cms_deals",
                _("Deals"),
                "tag",
                EDITOR,
                "g d",
                _("list drafts scheduled live expired"),
                "drafts",
            ),
            Place("cms_brands", _("Brands"), "store", EDITOR, "g b", _("manufacturers makers logos")),
            Place("cms_categories", _("Categories"), "layers", EDITOR, "g c"),
            Place(
                "cms_imports",
                _("Imports"),
                "upload",
                EDITOR,
                "g i",
                _("csv spreadsheet file paste rows upload"),
            ),
        ),
    ),
    MenuGroup(
        _("Promotion"),
        (
            Place(
                "cms_featured",
                _("Featured"),
                "star",
                EDITOR,
                "g f",
                _("front page editors' choice"),
                "featured",
            ),
            Place("cms_messages", _("Messages"), "megaphone", EDITOR, "g m", _("announcements send")),
        ),
    ),
    MenuGroup(
        _("Sales"),
        (
            Place("cms_orders", _("Orders"), "package", OFFICE, "g o", _("ship deliver cancel"), "orders"),
            Place(
                "cms_payments",
                _("Payments"),
                "credit-card",
                OFFICE,
                "g p",
                _("instalments refunds overdue"),
                "payments",
            ),
            Place("cms_customers", _("Customers"), "user", OFFICE, "g k", _("shoppers people accounts")),
        ),
    ),
    MenuGroup(
        _("Insight"),
        (
            Place("cms_numbers", _("Numbers"), "chart-column", BOTH, "g n", _("charts sales statistics")),
            Place("cms_ask", _("Ask"), "database", OFFICE, "g a", _("questions sql snapshot")),
        ),
    ),
    MenuGroup(
        _("People"),
        (
            Place("cms_users", _("Users"), "users", ADMIN, "g u", _("roles accounts people")),
            Place("cms_audit", _("Audit log"), "history", ADMIN, "g l", _("who changed what")),
            Place(
                "cms_security",
                _("Security log"),
                "shield-check",
                ADMIN,
                "g y",
                _("sign-ins failures refusals alarms"),
            ),
        ),
    ),
    MenuGroup(
        _("System"),
        (
            Place(
                "cms_jobs",
                _("Jobs"),
                "list-checks",
                BOTH,
                "g j",
                _("background work progress export files csv download"),
            ),
            Place(
                "cms_operations", _("Operations"), "cpu", ADMIN, "", _("checks table nightly worker damage")
            ),
            Place(
                "cms_site_pages",
                _("Pages"),
                "file-pen",
                ADMIN,
                "",
                _("terms withdrawal privacy imprint legal texts"),
            ),
            Place("cms_limits", _("Limits"), "gauge", ADMIN, "", _("attacks abuse throttled stopped")),
        ),
    ),
)
UNLISTED = (
    Place("cms_switch_site", _("Site’s switch"), "wrench", ADMIN, "", _("maintenance read-only close open")),
    Place("cms_trash", _("Trash"), "trash-2", EDITOR, "g t", _("deleted restore undo recover")),
    Place(
        "cms_new_draft", _("New deal"), "plus", EDITOR, "n", _("draft write publish create"), short=_("New")
    ),
    Place("cms_new_brand", _("New brand"), "plus", EDITOR, "", _("create")),
    Place("cms_new_message", _("New message"), "megaphone", EDITOR, "", _("announce send create")),
    Place("cms_settings", _("Settings"), "settings", BOTH, "g s", _("autosave shortcuts language")),
    Place("cms_help", _("Help and shortcuts"), "keyboard", BOTH, "?", _("keyboard keys")),
)
LISTED = tuple(chain.from_iterable(group.places for group in MENU))
PLACES = (*LISTED, *UNLISTED)
# Below a page on a phone: the first four that somebody may open.
AT_HAND = (
    "cms_home",
    "cms_deals",
    "cms_new_draft",
    "cms_featured",
    "cms_orders",
    "cms_payments",
    "cms_numbers",
    "cms_jobs",
)


def open_to(roles: frozenset[str], places: tuple[Place, ...] = PLACES) -> tuple[Place, ...]:
    """Return those places that somebody's roles open to them, an admin's all."""
    return tuple(place for place in places if not roles.isdisjoint((*place.roles, *ADMIN)))


def menu_of(roles: frozenset[str]) -> list[MenuGroup]:
    """Return somebody's menu."""
    groups = (MenuGroup(group.title, open_to(roles, group.places)) for group in MENU)
    return [group for group in groups if group.places]


def at_hand(roles: frozenset[str]) -> list[Place]:
    """Return what stands below the pages on a phone."""
    found = {place.url_name: place for place in open_to(roles)}
    return [found[name] for name in AT_HAND if name in found][:4]


def place_of(path: str) -> Place | None:
    """Return the place of the menu that a page belongs to: the one whose address its path begins with."""
    path = path.replace("/drafts/", "/deals/", 1)  # one list has both
    begun = ((place, address) for place, address in _addresses() if path.startswith(address))
    found, address = max(begun, key=lambda one: len(one[1]), default=(None, ""))
    return None if found and found.url_name == "cms_home" and path != address else found


@cache
def _addresses() -> list[tuple[Place, str]]:
    return [(place, place.address) for place in LISTED]
