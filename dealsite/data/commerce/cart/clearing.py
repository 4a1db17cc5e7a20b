"""What a deleted user leaves in his cart goes; what he bought stays with his orders."""

from __future__ import annotations

from dealsite.data import keys, table
from dealsite.data.commerce.cart.cart_record import ACTIVE, MAX_ACTIVE, MAX_SAVED, SAVED
from dealsite.data.commerce.cart.owners import user_cart
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.writes import Delete


@access_pattern(
    "delete a cart: its head and each line", "CART#u / HEAD, STATUS#at#line", "2 queries + 2 deletes"
)
def clear(username: str) -> None:
    """Delete a user's cart, its saved lines too; harmless to repeat. 2 consistent queries + 1 delete each."""
    owner = user_cart(username)
    head_key = owner.head
    for low, high, limit in (
        (keys.cart_line.between(ACTIVE)[0], head_key[1], MAX_ACTIVE + 1),
        (*keys.cart_line.between(SAVED), MAX_SAVED),
    ):
        for row in table.query(owner.partition, low=low, high=high, limit=limit, consistent=True):
            table.write(Delete(key=(row["PK"], row["SK"])))
