"""Whose cart it is: a user's, under their name, or a visitor's, under the hash of what their cookie holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dealsite.data import keys
from dealsite.data.table.ids import hash_of


@dataclass(frozen=True, slots=True)
class CartOwner:
    """A user, or a visitor who is known by the hash of their cookie only; it knows where the cart is kept."""

    username: str = ""
    visitor: str = ""

    @property
    def partition(self) -> str:
        return self.head[0]

    @property
    def head(self) -> keys.Key:
        return keys.cart_head(self.username) if self.username else keys.visitor_cart_head(self.visitor)

    def line(self, status: str, at: datetime, line_id: str) -> keys.Key:
        """Return the key of a line of the cart, or of an order once it is bought."""
        if self.username:
            return keys.cart_line(self.username, status, at, line_id)
        return keys.visitor_cart_line(self.visitor, status, at, line_id)


def user_cart(username: str) -> CartOwner:
    """Return the owner of a user's cart; ValueError for what cannot be part of a key."""
    return CartOwner(username=keys.part(username))


def visitor_cart(cart_key: str) -> CartOwner:
    """Return the owner of the cart of a visitor whose cookie holds this."""
    return CartOwner(visitor=hash_of(cart_key))
