"""The pages that feature deals: the front page, Editors' Choice and those of the eight categories."""

FRONT, EDITORS_CHOICE = "front", "editors-choice"
CATEGORIES = {
    "computers-components": "Computers",
    "peripherals-networking": "Peripherals",
    "audio-tv-photo": "Audio, TV & Photo",
    "office-software": "Office & Software",
    "home-furniture": "Home & Furniture",
    "grocery-household": "Grocery",
    "fashion-beauty": "Fashion & Beauty",
    "toys-hobbies": "Toys & Hobbies",
}
PAGES = (FRONT, EDITORS_CHOICE, *CATEGORIES)  # their ids
