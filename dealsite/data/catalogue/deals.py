"""Deals: published or scheduled.

Each write is one transaction over the deal, its offer, counters and featured cards. A deal item has two
counters: `version` counts the edits of people, and decides conflicts between them; `writes` counts every
change, and keeps the read-modify-write of these modules honest.
"""

from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.deal.deal_record import Deal, deal_from_items, get, get_many, get_visible
from dealsite.data.catalogue.deal.deleting import delete, restore
from dealsite.data.catalogue.deal.editing import StockChanged, edit, expire_now, revert
from dealsite.data.catalogue.deal.publishing import BrandChanged, check_brand, publish, publish_many
from dealsite.data.catalogue.deal.rescheduling import reschedule

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
