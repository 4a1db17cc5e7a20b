"""What an item's type declares of it: where it stands, its index rows, its attributes."""

from dealsite.data.integrity.index_rows import IndexRows
from dealsite.data.integrity.problem import Problem
from dealsite.data.table.convert import Item


def problems_of(item: Item) -> list[Problem]:
    """Return what is wrong with an item that it says itself, without a look at any other."""
    check = IndexRows()
    check.is_sound(item)
    return check.found
