"""A sound item of every type, with every attribute that it can have at once."""

from typing import Any

from tests.data.entities import (
    examples_batches,
    examples_commerce,
    examples_deals,
    examples_drafts,
    examples_featured,
    examples_operations,
    examples_payments,
    examples_people,
    examples_taxonomy,
    examples_work,
)

MODULES = (
    examples_deals,
    examples_drafts,
    examples_taxonomy,
    examples_featured,
    examples_commerce,
    examples_payments,
    examples_batches,
    examples_people,
    examples_work,
    examples_operations,
)
EXAMPLES: dict[str, dict[str, Any]] = {
    name: item for module in MODULES for name, item in module.EXAMPLES.items()
}
