"""What templates need beyond Django's own tags and filters."""

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

    `sizes` as HTML has it; `width` is for browsers that do not choose; `alt` if not the picture's own; `box` the side
    of a square that it fills; `first` where it is what the page is about.
    """
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
    if not renditions.are_made(picture.name):
        return image
    source = '<source type="{}" srcset="{}" sizes="{}">'
    sources = [
        format_html(source, type_, renditions.srcset(picture, kind), sizes)
        for kind, type_ in renditions.TYPES.items()
    ]
    return format_html("<picture>{}{}{}</picture>", *sources, image)


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
