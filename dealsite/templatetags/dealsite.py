"""What templates need beyond Django's own tags and filters."""

from django import template
from django.utils.safestring import SafeString, mark_safe

from dealsite import pictures, text
from dealsite.data.cards import Picture

register = template.Library()


@register.filter
def picture_url(picture: Picture, width: int = pictures.WIDTHS[0]) -> str:
    """`{{ card.picture|picture_url:480 }}`: the address of a stored picture at about a width."""
    return pictures.url(picture, width)


@register.filter
def picture_srcset(picture: Picture) -> str:
    """`srcset="{{ card.picture|picture_srcset }}"`: every stored width, for the browser to choose from."""
    return pictures.srcset(picture)


@register.filter
def markdown(source: str) -> SafeString:
    """`{{ deal.content.description|markdown }}`: Markdown as sanitised HTML."""
    return mark_safe(text.to_html(source))  # noqa: S308 (sanitised by an allow-list)


@register.filter
def excerpt(source: str, characters: int = 160) -> str:
    """`{{ deal.content.description|excerpt:160 }}`: the beginning of a Markdown text in plain words."""
    return text.excerpt(source, characters)
