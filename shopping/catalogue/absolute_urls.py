"""Absolute addresses of the site, for those who read its pages elsewhere: search engines, feed readers, other sites."""

from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import escape_uri_path

from dealsite.data.catalogue.cards import DealCard, Picture
from dealsite.pictures import uploads


def absolute(path: str) -> str:
    """The whole address of a path of the site; one that is whole already stays as it is."""
    return urljoin(str(settings.DEALSITE_URL), path)


def canonical(request: HttpRequest) -> str:
    """A page's own address: without anything in the query string but the place in a list."""
    place = {name: request.GET[name] for name in ("after", "before") if name in request.GET}
    return absolute(escape_uri_path(request.path)) + (f"?{urlencode(place)}" if place else "")


def deal_path(card: DealCard) -> str:
    return reverse("deal", args=[card.id, card.slug])


def picture(image: Picture | None) -> str:
    """The address of a picture as other sites show it; empty where there is none."""
    return absolute(uploads.url(image, 1200)) if image else ""
