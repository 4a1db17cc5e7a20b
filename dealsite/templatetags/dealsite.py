"""What templates need beyond Django's own tags and filters."""

import re
from collections.abc import Iterator

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dealsite.data.catalogue.cards import Picture
from dealsite.data.names import shown_email
from dealsite.pictures import encoding, renditions, uploads
from dealsite.text import stored_words

register = template.Library()
register.filter(shown_email)


@register.filter
def picture_url(picture: Picture, width: int = encoding.WIDTHS[0]) -> str:
    """`{{ card.picture|picture_url:480 }}`: the address of a stored picture at about a width."""
    return uploads.url(picture, width)


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
    """`{% picture card.picture "20rem" css="thumb" lazy=True %}`: the picture in every stored width and format.

    `sizes` as HTML has it, or a name of SIZES; `width` is for browsers that do not choose; `alt` if not the picture's
    own; `box` the side of a square that it fills; `first` where it is what the page is about.
    """
    sizes = _sizes_of(picture, sizes)
    image = format_html(
        '<img{} src="{}" srcset="{}" sizes="{}" alt="{}" width="{}" height="{}" decoding="async"{}>',
        _attribute("class", " ".join(filter(None, (css, focal_classes(picture))))),
        uploads.url(picture, width),
        uploads.srcset(picture),
        sizes,
        picture.alt if alt is None else alt,
        box or picture.width,
        box or picture.height,
        _attribute("loading", "lazy") if lazy else _attribute("fetchpriority", "high" if first else ""),
    )
    source = '<source type="{}" srcset="{}" sizes="{}">'
    sources = [format_html(source, type_, srcset, sizes) for type_, srcset in _sources(picture)]
    return format_html("<picture>{}{}{}</picture>", *sources, image) if sources else image


@register.simple_tag
def picture_preload(picture: Picture | None, sizes: str) -> SafeString:
    """`{% picture_preload card.picture "card" %}`: the link of a head that asks for the file that the element shows."""
    if not picture:
        return SafeString("")
    type_, srcset = next(_sources(picture), (renditions.TYPES[renditions.WEBP], uploads.srcset(picture)))
    link = '<link rel="preload" as="image" type="{}" imagesrcset="{}" imagesizes="{}" fetchpriority="high">'
    return format_html(link, type_, srcset, _sizes_of(picture, sizes))


def _sources(picture: Picture) -> Iterator[tuple[str, str]]:
    """Yield type and `srcset` of the further files of a picture, the best first, if they are there."""
    if renditions.are_made(picture.name):
        for kind, type_ in renditions.TYPES.items():
            yield type_, renditions.srcset(picture, kind)


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
