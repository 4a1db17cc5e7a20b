"""What a deleted user leaves in his cart goes; what he bought stays with his orders."""

from __future__ import annotations

from dealsite.data import keys, table
from dealsite.data.carts.stored import ACTIVE, MAX_ACTIVE, MAX_SAVED, SAVED
from dealsite.data.writes import Delete


def clear(username: str) -> None:
    """Delete a user's cart, its saved lines too; harmless to repeat. 2 consistent queries + 1 delete each."""
    owner = keys.user_cart(username)
    head_key = keys.cart_head(owner)
    for low, high, limit in (
        (keys.cart_lines(ACTIVE)[0], head_key[1], MAX_ACTIVE + 1),
        (*keys.cart_lines(SAVED), MAX_SAVED),
    ):
        for row in table.query(owner.partition, low=low, high=high, limit=limit, consistent=True):
            table.write(Delete(key=(row["PK"], row["SK"])))
