"""Carts: what shoppers mean to buy, now or later. Signed-in users and visitors have one; visitors' end after 30 days.

stored    the head and the lines as they are stored
changes   what happens to lines, collected and written with the head in one transaction
adding, changing, merging, looking, clearing    what shoppers do
"""

from dealsite.data.carts.adding import Added, CannotAdd, Wanted, add, add_many
from dealsite.data.carts.changing import accept, change_quantity, move, remove
from dealsite.data.carts.clearing import clear
from dealsite.data.carts.looking import Look, Shown, look
from dealsite.data.carts.merging import Merged, merge
from dealsite.data.carts.stored import (
    ACTIVE,
    MAX_ACTIVE,
    MAX_QUANTITY,
    PURCHASED,
    RETURNED,
    SAVED,
    VISITOR_CART_LIFETIME,
    Cart,
    CartChanged,
    CartFull,
    Line,
    read,
    read_active,
    read_head,
)
from dealsite.data.keys import CartOwner, user_cart, visitor_cart

__all__ = [
    "ACTIVE",
    "MAX_ACTIVE",
    "MAX_QUANTITY",
    "PURCHASED",
    "RETURNED",
    "SAVED",
    "VISITOR_CART_LIFETIME",
    "Added",
    "CannotAdd",
    "Cart",
    "CartChanged",
    "CartFull",
    "CartOwner",
    "Line",
    "Look",
    "Merged",
    "Shown",
    "Wanted",
    "accept",
    "add",
    "add_many",
    "change_quantity",
    "clear",
    "look",
    "merge",
    "move",
    "read",
    "read_active",
    "read_head",
    "remove",
    "user_cart",
    "visitor_cart",
]
