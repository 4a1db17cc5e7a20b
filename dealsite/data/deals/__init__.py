"""Deals: published or scheduled.

Each write is one transaction over the deal, its offer, counters and featured cards. A deal item has two
counters: `version` counts the edits of people, and decides conflicts between them; `writes` counts every
change, and keeps the read-modify-write of these modules honest.
"""

from dealsite.data.content import problems
from dealsite.data.deals.editing import StockChanged, edit, expire_now
from dealsite.data.deals.moving import reschedule
from dealsite.data.deals.publishing import BrandChanged, check_brand, publish, publish_many
from dealsite.data.deals.reverting import revert
from dealsite.data.deals.stored import Deal, deal_from_items, get, get_many, get_visible
from dealsite.data.deals.trashing import delete, restore

__all__ = [
    "BrandChanged",
    "Deal",
    "StockChanged",
    "check_brand",
    "deal_from_items",
    "delete",
    "edit",
    "expire_now",
    "get",
    "get_many",
    "get_visible",
    "problems",
    "publish",
    "publish_many",
    "reschedule",
    "restore",
    "revert",
]
