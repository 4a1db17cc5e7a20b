"""What editors and shoppers do for a while, with whatever build runs this; prints what was acknowledged, as JSON.

    python edits.py NAME ROUNDS DEAL...

It uses what every build has had under the same names.
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import django

sys.path.insert(0, str(Path.cwd()))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from dealsite.data.catalogue import brands, deals, relations  # noqa: E402
from dealsite.data.commerce import carts  # noqa: E402
from dealsite.data.people import users  # noqa: E402
from dealsite.data.table.errors import Conflict, VersionConflict  # noqa: E402
from dealsite.data.table.ids import new_ulid  # noqa: E402

try:
    from dealsite.data.catalogue import deal_changes, publishing
    from dealsite.data.commerce import cart_changes as adding
except ImportError:  # 0.2.0 has them elsewhere
    from dealsite.data.catalogue.deal import deleting, editing, publishing  # type: ignore
    from dealsite.data.commerce import carts as adding  # type: ignore
else:
    deleting = editing = deal_changes
DESCRIPTION = "Edited by two builds at once."


def edit(deal_id: str, title: str, by: str) -> int:
    """Give a deal another title, however often somebody else is faster; return its version then."""
    while True:
        deal = deals.get(deal_id)
        content = replace(deal.content, title=title, description=DESCRIPTION)
        brand = brands.get(content.brand)
        try:
            now = timezone.now()
            return editing.edit(deal, content, version=deal.version, brand=brand, by=by, now=now).version
        except VersionConflict:
            continue


def main(name: str, rounds: int, shared: list[str]) -> dict[str, Any]:
    """Edit the same deals as the other build, publish some, delete some, fill a cart and like a brand."""
    done: dict[str, Any] = {"edited": [], "published": [], "deleted": [], "refused": []}
    users.create(
        username=name,
        email=f"{name}@example.org",
        password="!",
        registration=new_ulid(timezone.now()),
        now=timezone.now(),
    )
    owner, template = carts.user_cart(name), deals.get(shared[0]).content
    brand = brands.get(template.brand)
    for number in range(rounds):
        now = timezone.now()
        try:
            for deal_id in shared:
                done["edited"].append([deal_id, edit(deal_id, f"{name} {number}", name)])
            content = replace(template, title=f"New of {name} {number}")
            new = publishing.publish(content, deal_id=new_ulid(now), brand=brand, by=name, now=now)
            done["published"].append(new.id)
            adding.add(owner, adding.CartAddition(shared[number % len(shared)], 1, new_ulid(now)), now=now)
            if number % 3 == 0:
                deleting.delete(deals.get(new.id), by=name, now=timezone.now())
                done["deleted"].append(new.id)
        except Conflict as error:
            done["refused"].append(repr(error))
    relations.add(relations.BRAND_LIKE, brand.slug, username=name, now=timezone.now())
    return done


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])))  # noqa: T201
