"""Making a deal again what it was: an edit like others, on top of what it is now."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data.catalogue import brands
from dealsite.data.catalogue.deal.deal_record import Deal
from dealsite.data.catalogue.deal.editing import edit
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.versions import Version
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, Invalid, NotFound

END_PASSED = gettext_lazy(
    "The end that this version had has passed: the deal would be over at once. Keep the end that it has now."
)
BRAND_GONE = gettext_lazy(
    "The brand of this version, %(brand)s, does not exist any more. Add the brand again, then restore it."
)


@access_pattern("revert a deal", "DEAL#id, VERSIONS#id, pages / itself, number", "1 get + 1 transaction")
def revert(deal: Deal, to: Version, *, version: int, stock: bool, end: bool, by: str, now: datetime) -> Deal:
    """Give a deal the content of a version; `version` is the one that the editor saw.

    Its stock and its end stay as they are now unless `stock` and `end` ask for those of then; prices go on from
    now. Harmless where nothing differs. VersionConflict, StockChanged as for `edit`; Conflict if the brand is gone,
    Invalid where the end of then has passed. 1 get + 1 transaction.
    """
    content = replace(
        to.content,
        stock=to.content.stock if stock else deal.stock,
        expires_at=to.content.expires_at if end else deal.content.expires_at,
    )
    if content == deal.content and version == deal.version:
        return deal
    ends = content.expires_at
    if ends is not None and ends <= now and ends != deal.content.expires_at:
        raise Invalid(expires_at=END_PASSED)
    try:
        brand = brands.get(content.brand)
    except NotFound:
        raise Conflict(BRAND_GONE % {"brand": to.brand_name}) from None
    audit_context = AuditContext(note=f"as in version {to.number}")
    return edit(deal, content, version=version, brand=brand, by=by, now=now, audit_context=audit_context)
