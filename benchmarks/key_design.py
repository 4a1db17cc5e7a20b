"""Which partitions of a site with 100 million deals get hot, and which large: `python -m benchmarks.key_design`."""

import os

import django

MOST, LEAST = 8, 0.02  # partitions of a load; what they take of what they can


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    os.environ.setdefault("DEALSITE_SECRET_KEY", "none")
    django.setup()
    from benchmarks import volume
    from benchmarks.paper_site import Site, fullest, hottest

    site = Site()
    for load in site.loads():
        print(f"\n{load.what}: {load.a_second:,.0f} a second")
        for one in hottest(site, load)[:MOST]:
            if one.part >= LEAST:
                what = f"{one.units:8,.0f} of {one.most:,} {one.kind} units"
                of_item = f"{one.of_item:8,.0f} of one item"
                limit = "EXCEEDS" if one.part > 1 else "       "
                print(
                    f"{what}, {of_item}  {limit} at {one.gives_way:10,.0f}  {one.index_name or 'table'} {one.name}"
                )
    print(f"\na million payments in half an hour: {volume.rate():,.0f} a second")
    for payments in volume.partition_loads(volume.EXAMPLE, now=volume.NOW):
        print(f"{payments.units:8,.0f} of 1,000 write units  {payments.partition}: {payments.what}")
    print("\nThe fullest partitions")
    for held in fullest(site)[:MOST]:
        print(
            f"{held.items:12,.0f} items {held.size / 1e9:8,.2f} GB  {held.index_name or 'table'} {held.name}"
        )


if __name__ == "__main__":
    main()
