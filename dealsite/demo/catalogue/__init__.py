"""What the demo's deals are about: kinds of products for each of the eight categories."""

from dealsite.demo.catalogue import (
    audio_tv_photo,
    computers_components,
    fashion_beauty,
    grocery_household,
    home_furniture,
    office_software,
    peripherals_networking,
    toys_hobbies,
)
from dealsite.demo.catalogue.product import Product

PRODUCTS: dict[str, tuple[Product, ...]] = {
    "computers-components": computers_components.PRODUCTS,
    "peripherals-networking": peripherals_networking.PRODUCTS,
    "audio-tv-photo": audio_tv_photo.PRODUCTS,
    "office-software": office_software.PRODUCTS,
    "home-furniture": home_furniture.PRODUCTS,
    "grocery-household": grocery_household.PRODUCTS,
    "fashion-beauty": fashion_beauty.PRODUCTS,
    "toys-hobbies": toys_hobbies.PRODUCTS,
}

__all__ = ["PRODUCTS", "Product"]
