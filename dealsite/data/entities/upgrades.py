"""What makes an item of an older schema one of the next: pure, harmless to repeat, keeping what it does not know.

    0  everything written before items noted their schema: release 0.2.0, and the builds before and after it
    1  the same shapes, noted; a layout of an import that names no language has none, instead of NULL

docs/upgrading.md says how to add one.
"""

from dealsite.data.table.convert import Item


def without_empty_language(item: Item) -> Item:
    """Schema 1 of an import, and of the layout that is kept of one."""
    layout = item.get("layout")
    if not isinstance(layout, dict) or layout.get("language", "") is not None:
        return item
    return {**item, "layout": {name: value for name, value in layout.items() if name != "language"}}
