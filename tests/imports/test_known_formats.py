"""Files of shops and networks are known by their headings, and give deals without a choice made by hand."""

from __future__ import annotations

import csv
import io

import pytest

from dealsite.imports import csv_format, layout, rows
from dealsite.imports.csv_files import records
from dealsite.imports.rows import NewDeal
from tests.imports.builders import NOW

HTML = "<p>Made of <b>brass</b>.</p>"
TEXT = "Made of **brass**."
PICTURE = "https://cdn.example/1.jpg"
# format: its columns, rows; what of the deals is right, by line
FILES: dict[str, tuple[str, list[str], dict[int, dict[str, object]]]] = {
    "Shopify": (
        "Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Option1 Name,Option1 "
        "Value,Variant SKU,"
        "Variant Inventory Qty,Variant Price,Variant Compare At Price,Image Src,Image Position,Gift "
        "Card,Status",
        [
            f"brass-lamp,Brass lamp,{HTML},Nordlicht,Home & Garden > Lamps,Lamps,x,true,Size,S,B1,5,"
            f"12.50,20.00,{PICTURE},1,"
            "false,active",
            "brass-lamp,,,,,,,,,M,B2,3,13.50,21.00,,,,",
            "brass-lamp,,,,,,,,,,,,,,https://cdn.example/2.jpg,2,,",
        ],
        {2: {"link": "https://shop.example/products/brass-lamp", "stock": 5}},
    ),
    "Shopify, new": (
        "Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,"
        "Status,SKU,Barcode,"
        "Option1 name,Option1 value,Price,Compare-at price,Cost per item,Charge tax,Inventory quantity,"
        "Product image URL",
        [
            f"Brass lamp,brass-lamp,{HTML},Nordlicht,Home & Garden > Lamps,Lamp,x,TRUE,Active,B1,,Size,"
            f"S,12.50,20.00,4,TRUE,"
            f"5,{PICTURE}",
            ",brass-lamp,,,,,,,,B2,,,M,13.50,21.00,,,3,",
        ],
        {2: {"link": "https://shop.example/products/brass-lamp", "stock": 5}},
    ),
    "WooCommerce": (
        'ID,Type,SKU,"GTIN, UPC, EAN, or ISBN",Name,Published,Is featured?,Visibility in catalog,Short '
        "description,Description,"
        "Date sale price starts,Date sale price ends,Tax status,In stock?,Stock,Weight (kg),Sale price,"
        "Regular price,"
        "Categories,Tags,Images,External URL,Button text,Position,Brands",
        [
            f"11,external,B1,,Brass lamp,1,0,visible,Short,{HTML},,2026-12-01 00:00:00,taxable,1,5,,"
            f'12.50,20,"Lamps, Home '
            f'& Garden > Lamps",,"{PICTURE}, https://cdn.example/2.jpg",https://shop.example/brass-lamp,'
            f"Buy,0,Nordlicht"
        ],
        {
            2: {
                "link": "https://shop.example/brass-lamp",
                "stock": 5,
                "expires_at": "2026-12-01 00:00:00+00:00",
            }
        },
    ),
    "Magento": (
        "sku,store_view_code,attribute_set_code,product_type,categories,product_websites,name,"
        "description,short_description,"
        "weight,product_online,tax_class_name,visibility,price,special_price,special_price_from_date,"
        "special_price_to_date,"
        "url_key,base_image,manufacturer,qty,is_in_stock",
        [
            f'B1,,Default,simple,"Default Category/Home,Default Category/Home/Lamps",base,Brass lamp,'
            f"{HTML},,1.0000,1,Taxable"
            f' Goods,"Catalog, Search",20.0000,12.5000,,12/1/26,brass-lamp,{PICTURE},Nordlicht,5.0000,1'
        ],
        {
            2: {
                "link": "https://shop.example/brass-lamp.html",
                "stock": 5,
                "expires_at": "2026-12-01 23:59:59+00:00",
            }
        },
    ),
    "PrestaShop": (
        "Product ID;Active (0/1);Name *;Categories (x,y,z...);Price tax included;Tax rules ID;Wholesale "
        "price;On sale (0/1);"
        "Discount amount;Reference #;Supplier;Manufacturer;EAN13;Quantity;Summary;Description;Tags (x,y,"
        "z...);URL rewritten;"
        "Image URLs (x,y,z...)",
        [
            f"1;1;Brass lamp;Lamps,Home;12.500000;1;6;1;;B1;X;Nordlicht;;5;Short;{HTML};;brass-lamp;"
            f"{PICTURE},https://cdn.example/2.jpg"
        ],
        {2: {"link": "https://shop.example/brass-lamp.html", "stock": 5, "was_price": "None"}},
    ),
    "Google Merchant": (
        "id\ttitle\tdescription\tlink\timage_link\tavailability\tprice\tsale_price\tsale_price_effective_date\tbrand\tgtin"
        "\tgoogle_product_category\tproduct_type\tcondition",
        [
            f"B1\tBrass lamp\tMade of "
            f"**brass**.\thttps://shop.example/brass-lamp\t{PICTURE}\tin_stock\t20.00 EUR\t12.50 EUR\t"
            "2026-11-21T09:00+0100/2026-12-01T00:00+0000\tNordlicht\t\t594\tHome > Lamps\tnew"
        ],
        {2: {"link": "https://shop.example/brass-lamp", "expires_at": "2026-12-01 00:00:00+00:00"}},
    ),
    "Awin": (
        "aw_deep_link,product_name,aw_product_id,merchant_product_id,merchant_image_url,description,"
        "merchant_category,"
        "search_price,merchant_name,merchant_id,category_name,category_id,aw_image_url,currency,"
        "store_price,delivery_cost,"
        "merchant_deep_link,language,last_updated,display_price,data_feed_id,brand_name,rrp_price,"
        "stock_quantity,valid_to",
        [
            f"https://www.awin1.com/pclick.php?p=1&a=2&m=3,Brass lamp,1,B1,{PICTURE},{HTML},Home > "
            f"Lamps,12.50,Shop,3,Lamps,1,,"
            "EUR,,4.95,https://shop.example/brass-lamp,en,,EUR12.50,1,Nordlicht,20.00,5,"
        ],
        {
            2: {
                "link": "https://www.awin1.com/pclick.php?p=1&a=2&m=3",
                "is_ad": True,
                "stock": None,
                "article_number": "1",
            }
        },
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_known_file_gives_deals_without_a_choice(name, whole_table):
    head, lines, right = FILES[name]
    file = io.BytesIO("\n".join([head, *lines, ""]).encode())
    found = csv_format.inspect(file)
    chosen = layout.guessed(
        found.titles, found.first_rows, zone="UTC", moment=NOW, shop="https://shop.example"
    )
    assert layout.format_of(chosen.titles).name == name.partition(",")[0]
    results = list(rows.check(records(file, csv_format.format_of(file)), chosen))
    made = {one.line: one for one in results if isinstance(one, NewDeal)}
    assert made.keys() == right.keys()
    assert [one for one in results if getattr(one, "refused", False)] == []
    for line, one in made.items():
        content = vars(one.content)
        usual = {
            "title": "Brass lamp",
            "price": "12.50",
            "was_price": "20.00",
            "brand": "nordlicht",
            "description": TEXT,
            "article_number": "B1",
        }
        wanted = {field: str(value) for field, value in (usual | right[line]).items()}
        as_read = {field: content[field] for field in wanted}
        as_read |= {field: content[field] and f"{content[field]:.2f}" for field in ("price", "was_price")}
        assert {field: str(value) for field, value in as_read.items()} == wanted
        assert (one.image_url, one.lacks) == (PICTURE, {})
        assert one.foreign


def test_rows_of_variants_are_passed_over_with_one_remark(whole_table):
    head, lines, _ = FILES["Shopify"]
    content = "\n".join([head, *lines, *(line.replace("rass", "ronze") for line in lines), ""])
    titles = next(csv.reader([head]))
    chosen = layout.guessed(titles, [], zone="UTC", moment=NOW)
    file = io.BytesIO(content.encode())
    results = list(rows.check(records(file, csv_format.format_of(file)), chosen))
    remarks = [one for one in results if not isinstance(one, NewDeal)]
    assert [(one.line, one.refused) for one in remarks] == [(3, False)]
    assert "3 more" in remarks[0].reason
    assert [one.content.link for one in results if isinstance(one, NewDeal)] == [
        "",
        "",
    ]  # the shop is not known
