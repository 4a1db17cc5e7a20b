"""Carts: what shoppers mean to buy, now or later. Signed-in users and visitors have one; visitors' end after 30 days.

owners    whose cart it is, and where it is kept
cart_record   the head and the lines as they are stored
cart_writes   what happens to lines, collected and written with the head in one transaction
adding, changing, merging, looking, clearing    what shoppers do
"""

from dealsite.data.commerce.cart.adding import AddResult, CannotAdd, CartAddition, add, add_many
from dealsite.data.commerce.cart.cart_record import (
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
)
from dealsite.data.commerce.cart.changing import accept, change_quantity, move, remove
from dealsite.data.commerce.cart.clearing import clear
from dealsite.data.commerce.cart.merging import MergeResult, merge
from dealsite.data.commerce.cart.owners import CartOwner, user_cart, visitor_cart
from dealsite.data.commerce.cart.reading import read, read_active, read_head
from dealsite.data.commerce.cart.view import CartView, LineView, view

__all__ = [
    "ACTIVE",
    "MAX_ACTIVE",
    "MAX_QUANTITY",
    "PURCHASED",
    "RETURNED",
    "SAVED",
    "VISITOR_CART_LIFETIME",
    "AddResult",
    "CannotAdd",
    "Cart",
    "CartAddition",
    "CartChanged",
    "CartFull",
    "CartOwner",
    "CartView",
    "Line",
    "LineView",
    "MergeResult",
    "accept",
    "add",
    "add_many",
    "change_quantity",
    "clear",
    "merge",
    "move",
    "read",
    "read_active",
    "read_head",
    "remove",
    "user_cart",
    "view",
    "visitor_cart",
]
