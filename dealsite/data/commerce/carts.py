"""Carts: what shoppers mean to buy, now or later. Signed-in users and visitors have one; visitors' end after 30 days.

cart_record   whose cart it is, the head and the lines as they are stored, and reading them
cart_writes   what happens to lines, collected and written with the head in one transaction
view          what a shopper is shown of it
changing, merging   what shoppers do, and how a cart ends
"""

from dealsite.data.commerce.cart.cart_record import (
    VISITOR_CART_LIFETIME,
    Cart,
    CartChanged,
    CartFull,
    CartOwner,
    Line,
    read,
    read_active,
    read_head,
    user_cart,
    visitor_cart,
)
from dealsite.data.commerce.cart.changing import (
    CannotAdd,
    CartAddition,
    accept,
    add,
    add_many,
    change_quantity,
    move,
    remove,
)
from dealsite.data.commerce.cart.merging import MergeResult, clear, merge
from dealsite.data.commerce.cart.view import CartView, LineView, view
from dealsite.data.entities.commerce import ACTIVE, MAX_ACTIVE, MAX_QUANTITY, PURCHASED, RETURNED, SAVED
