"""python -m benchmarks.oscar.oscar_pages CSV CATEGORY WORD: the oscar site with the deals of a file as its products.

It runs on the Python of build/oscar.
"""

import contextlib
import csv
import os
import sys
from pathlib import Path

import django
from django.core.management import call_command

from benchmarks.oscar import rounds

WORDS = """
ALTER TABLE catalogue_product ADD COLUMN words tsvector
    GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || description)) STORED;
CREATE INDEX ON catalogue_product USING gin (words);
"""


def main(file: str, category: str, word: str) -> None:
    to = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.oscar.oscar_settings"
        django.setup()
        from django.db import connection
        from oscar.apps.analytics.receivers import receive_product_view
        from oscar.apps.catalogue.signals import product_viewed
        from oscar.core.loading import get_model

        product_viewed.disconnect(receive_product_view)  # Dealsite does not count who looks at a deal
        print("Loading the oscar site ...", flush=True)
        call_command("migrate", verbosity=0)
        load(Path(file))
        with connection.cursor() as cursor:
            cursor.execute(WORDS)
            cursor.execute("VACUUM ANALYZE")

        def queries(client: django.test.Client, path: str) -> int:
            sent = []
            with connection.execute_wrapper(lambda execute, *args: sent.append(args[0]) or execute(*args)):
                client.get(path)
            return len(sent)

        pages = {
            "list": "/catalogue/",
            "category": get_model("catalogue", "Category").objects.get(slug=category).get_absolute_url(),
            "product": get_model("catalogue", "Product").objects.first().get_absolute_url(),
            "search": f"/search/?q={word}",
        }
        rounds.answer(pages, b'<article class="product_pod"', queries, lambda _: None, to)


def load(file: Path) -> None:
    """Make a product of each row of a file, the oldest first: with its price, its category, its brand."""
    from django.utils.text import slugify
    from oscar.core.loading import get_model

    category, through = get_model("catalogue", "Category"), get_model("catalogue", "ProductCategory")
    product, stock_record = get_model("catalogue", "Product"), get_model("partner", "StockRecord")
    deals = get_model("catalogue", "ProductClass").objects.create(name="Deal", track_stock=False)
    brand = deals.attributes.create(name="Brand", code="brand", type="text")
    partner = get_model("partner", "Partner").objects.create(name="Dealsite")
    with file.open(encoding="utf-8", newline="") as opened:
        rows = sorted(csv.DictReader(opened), key=lambda row: row["published_at"])
    categories = {
        slug: category.objects.add_root({"name": slug, "slug": slug})
        for slug in sorted({row["category"] for row in rows})
    }
    made = product.objects.bulk_create(
        product(
            product_class=deals,
            title=row["title"][:255],
            slug=slugify(row["title"])[:255],
            description=row["description"],
        )
        for row in rows
    )
    pairs = list(zip(made, rows, strict=True))
    through.objects.bulk_create(
        through(product=one, category=categories[row["category"]]) for one, row in pairs
    )
    stock_record.objects.bulk_create(
        stock_record(product=one, partner=partner, partner_sku=str(one.pk), price=row["price"])
        for one, row in pairs
    )
    get_model("catalogue", "ProductAttributeValue").objects.bulk_create(
        brand.productattributevalue_set.model(product=one, attribute=brand, value_text=row["brand"])
        for one, row in pairs
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
