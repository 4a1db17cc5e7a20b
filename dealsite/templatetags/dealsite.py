"""What templates need beyond Django's own tags and filters."""

import functools
import re

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, ngettext

from dealsite.data.catalogue.cards import Picture
from dealsite.data.commerce.carts import LineView
from dealsite.data.names import shown_email
from dealsite.pictures import encoding, renditions, uploads
from dealsite.text import stored_words
from dealsite.text.writing import money

register = template.Library()
register.filter(shown_email)


@register.filter
def picture_url(picture: Picture, width: int = encoding.WIDTHS[0]) -> str:
    """`{{ card.picture|picture_url:480 }}`: the address of a stored picture at about a width."""
    return uploads.url(picture, width)


@register.filter
def has_all_files(picture: Picture | None) -> bool:
    """Whether all files of a picture are there: which of them is shown depends on that."""
    return renditions.are_made(picture.name) if picture else False


FOCAL_STEP = 5  # percent; static/css/themes.css has a class for each
# How wide pictures are drawn where several templates have to agree. 12.7x7.5rem: fitted into a box of this size.
SIZES = {
    "card": "(min-width: 1536px) 12.7x7.5rem, (min-width: 1024px) 15.6x9.3vw, (min-width: 640px) 27.6x16.4vw, 6rem",
    "line": "(min-width: 640px) 5.5rem, 6rem",
    "strip": "5.5rem",
    "deal": "(min-width: 1536px) 31.3x22.8rem, (min-width: 1024px) 24x24rem, (min-width: 768px) 42x30.7vw, "
    "(min-width: 640px) 86x62vw, 86x45vw",
}
BOX = re.compile(r"([\d.]+)x([\d.]+)(rem|vw)")
SLOT = re.compile(r"([\d.]+)(px|rem|vw)(?=,|$)")
PIXELS = {"px": 1, "rem": 16, "vw": 10.24}  # wider windows have slots in rem


@register.simple_tag(name="picture")
def picture_element(
    picture: Picture,
    sizes: str,
    width: int = encoding.WIDTHS[0],
    *,
    alt: str | None = None,
    css: str = "",
    box: int = 0,
    lazy: bool = False,
    first: bool = False,
) -> SafeString:
    """`{% picture card.picture "20rem" css="thumb" lazy=True %}`: the picture in the stored widths that may be wanted.

    `sizes` as HTML has it, or a name of SIZES; `width` is for browsers that do not choose, or know no AVIF; `alt` if
    not the picture's own; `box` the side of a square that it fills; `first` where it is what the page is about.
    """
    kind, candidates = _candidates(picture, sizes)
    image = format_html(
        '<img{} src="{}"{} alt="{}" width="{}" height="{}" decoding="async"{}>',
        _attribute("class", " ".join(filter(None, (css, focal_classes(picture))))),
        uploads.url(picture, width),
        "" if kind == renditions.AVIF else candidates,
        picture.alt if alt is None else alt,
        box or picture.width,
        box or picture.height,
        _attribute("loading", "lazy") if lazy else _attribute("fetchpriority", "high" if first else ""),
    )
    if kind != renditions.AVIF:
        return image
    return format_html('<picture><source type="image/avif"{}>{}</picture>', candidates, image)


@register.simple_tag
def picture_preload(picture: Picture | None, sizes: str) -> SafeString:
    """`{% picture_preload card.picture "card" %}`: the link of a head that asks for the file that the element shows."""
    if not picture:
        return SafeString("")
    kind, candidates = _candidates(picture, sizes, "image")
    link = '<link rel="preload" as="image" type="image/{}"{} fetchpriority="high">'
    return format_html(link, kind, candidates)


def _candidates(picture: Picture, sizes: str, prefix: str = "") -> tuple[str, SafeString]:
    """Return the kind of a picture's files and the attributes `srcset` and `sizes`: AVIF once all files are there.

    They name what a screen of two pixels each way could want.
    """
    is_made, sizes = renditions.are_made(picture.name), _sizes_of(picture, sizes)
    kind, widths = (renditions.AVIF, renditions.WIDTHS) if is_made else (renditions.WEBP, encoding.WIDTHS)
    most = 2 * _widest(sizes)
    fewer = next((number for number, width in enumerate(widths, 1) if width >= most), len(widths))
    srcset = uploads.srcset(picture, widths[:fewer], kind)
    return kind, format_html(' {0}srcset="{1}" {0}sizes="{2}"', prefix, srcset, sizes)


@functools.lru_cache(1_000)
def _widest(sizes: str) -> float:
    """Return how many pixels wide a picture is drawn at most."""
    return max(float(one[1]) * PIXELS[one[2]] for one in SLOT.finditer(sizes))


def _sizes_of(picture: Picture, sizes: str) -> str:
    """Return `sizes` as HTML has it, with the width that the picture takes in each box that it is fitted into."""

    def width(box: re.Match[str]) -> str:
        return f"{min(float(box[1]), float(box[2]) * picture.width / picture.height):.3g}{box[3]}"

    return BOX.sub(width, SIZES.get(sizes, sizes))


def _attribute(name: str, value: str) -> SafeString:
    return format_html(' {}="{}"', name, value) if value else SafeString("")


@register.filter
def focal_classes(picture: Picture) -> str:
    """The classes that keep the focal point of a picture in view where it is cropped; none for the middle."""
    if picture.is_centred:
        return ""
    x, y = (round(at / FOCAL_STEP) * FOCAL_STEP for at in (picture.focal_x, picture.focal_y))
    return f"focal-x-{x} focal-y-{y}"


@register.filter
def said(words: str) -> str:
    """`{{ entry.what|said }}`: words of the site's own that are stored, in the reader's language."""
    return stored_words.shown(words)


@register.filter
def problems(shown: LineView) -> list[str]:
    """What changed about a line since the shopper last looked, and what taking it would mean: a sentence each."""
    line = shown.line
    prices = {"price": money(line.price), "price_2": money(shown.price)}
    sentences = {
        "price_up": _("The price went up from %(price)s to %(price_2)s.") % prices,
        "price_down": _("The price went down from %(price)s to %(price_2)s.") % prices,
        "fewer_left": ngettext(
            "Only %(left)d is left. You wanted %(wanted)d.",
            "Only %(left)d are left. You wanted %(wanted)d.",
            shown.left or 0,
        )
        % {"left": shown.left or 0, "wanted": line.quantity},
        "sold_out": _("This deal is sold out."),
        "expired": _("This deal has expired."),
        "elsewhere": _("This deal is sold at a shop now. Its page leads there."),
        "gone": _("This deal is not offered any more."),
    }
    told = [problem for problem in shown.problems if not (shown.unavailable and problem.startswith("price"))]
    return [sentences[problem] for problem in told]
