"""The CMS's pages: which there are, who may open them, and the keys that lead there."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dealsite.accounts.requests import Anonymous, SignedIn


@dataclass(frozen=True)
class Place:
    """A page of the menu, or one that begins something new (`is_new`): found by its title and `words`, too.

    `shortcut` is what opens it from anywhere: keys one after the other.
    """

    url_name: str
    title: str | Promise
    icon: str
    roles: tuple[str, ...]
    shortcut: str = ""
    words: str | Promise = ""
    is_new: bool = False


EDITOR, OFFICE, ADMIN = ("editor",), ("back office",), ("admin",)

PLACES = (
    Place("cms_home", _("Overview"), "layout-dashboard", EDITOR, "g h", _("home start attention")),
    Place("cms_deals", _("Deals"), "tag", EDITOR, "g d", _("list drafts scheduled live expired")),
    Place("cms_brands", _("Brands"), "store", EDITOR, "g b", _("manufacturers makers logos")),
    Place("cms_categories", _("Categories"), "layers", EDITOR, "g c"),
    Place("cms_featured", _("Featured"), "star", EDITOR, "g f", _("front page editors' choice")),
    Place("cms_messages", _("Messages"), "megaphone", EDITOR, "g m", _("announcements send")),
    Place("cms_imports", _("Imports"), "upload", EDITOR, "g i", _("csv spreadsheet file rows upload")),
    Place("cms_paste_rows", _("Paste rows"), "copy", EDITOR, "", _("spreadsheet import"), is_new=True),
    Place(
        "cms_jobs",
        _("Jobs"),
        "list-checks",
        (*EDITOR, *OFFICE),
        "g j",
        _("background work progress export files csv download"),
    ),
    Place("cms_trash", _("Trash"), "trash-2", EDITOR, "g t", _("deleted restore undo recover")),
    Place("cms_orders", _("Orders"), "package", OFFICE, "g o", _("ship deliver cancel")),
    Place("cms_payments", _("Payments"), "credit-card", OFFICE, "g p", _("instalments refunds overdue")),
    Place(
        "cms_numbers", _("Numbers"), "chart-column", (*EDITOR, *OFFICE), "g n", _("charts sales statistics")
    ),
    Place("cms_ask", _("Ask"), "database", OFFICE, "g a", _("questions sql lake")),
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
    Place("cms_limits", _("Limits"), "gauge", ADMIN, "", _("attacks abuse throttled stopped")),
    Place("cms_operations", _("Operations"), "cpu", ADMIN, "", _("checks table nightly worker damage")),
    Place("cms_switch_site", _("Site’s switch"), "wrench", ADMIN, "", _("maintenance read-only close open")),
    Place("cms_new_draft", _("New deal"), "plus", EDITOR, "n", _("draft write publish create"), is_new=True),
    Place("cms_new_brand", _("New brand"), "plus", EDITOR, "", _("create"), is_new=True),
    Place(
        "cms_new_message", _("New message"), "megaphone", EDITOR, "", _("announce send create"), is_new=True
    ),
    Place(
        "cms_settings", _("Settings"), "settings", (*EDITOR, *OFFICE), "g s", _("autosave shortcuts language")
    ),
    Place("cms_help", _("Help and shortcuts"), "keyboard", (*EDITOR, *OFFICE), "?", _("keyboard keys")),
)


def open_to(user: Anonymous | SignedIn) -> list[Place]:
    """Return the places that somebody's roles open to them."""
    return [place for place in PLACES if user.has_role(*place.roles)]
