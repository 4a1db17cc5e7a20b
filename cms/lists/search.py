"""How editors find deals by their words: those to come and drafts, too, which shoppers never see."""

from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data.catalogue.deal_lists import DealFilter
from dealsite.search.deal_lists import question_of
from dealsite.search.documents import ALT, LINK, PICTURE, STOCK
from dealsite.search.finding import MOST_PAGES, PAGE_SIZE, SearchPage, find
from dealsite.search.question import MOST_CHARACTERS
from dealsite.search.reader import searcher
from dealsite.text.digits import number_in

LACKS = {  # what a list of deals can be narrowed down by
    PICTURE: gettext_lazy("Without a picture"),
    ALT: gettext_lazy("Pictures without alt text"),
    LINK: gettext_lazy("Broken links"),
    STOCK: gettext_lazy("Sold out"),
}
# Where no words say what fits best; the newest first in all other states.
ORDER_OF = {"ending": "ending", "expired": "ended"}
NOT_READY = gettext_lazy("Search is being set up. Please try again in a moment, or use the lists.")


def words_in(text: str) -> str:
    """Return what somebody typed into a search box, cut to the longest question that search takes."""
    return " ".join(text[: MOST_CHARACTERS * 4].replace("\x00", " ").split())[:MOST_CHARACTERS]


def is_found(matching: DealFilter) -> bool:
    """Tell whether search answers a list: words, what is wrong, and what no index of the table holds.

    The last only once search is ready; until then rows of the table are read.
    """
    return matching.is_searched or (matching.is_narrowed and searcher() is not None)


def find_deals(
    matching: DealFilter, *, now: datetime, page: int = 1, size: int = PAGE_SIZE, sort: str = ""
) -> SearchPage:
    """Return one page of the deals or drafts of a list, in one of `ORDERS` or as they fit best. No requests."""
    sort = sort or ("" if matching.words else ORDER_OF.get(matching.state, ""))
    return find(question_of(matching), now=now, page=page, sort=sort, size=size)


def page_number(text: str) -> int:
    """Return the number of a page that an address names, 0 if it is none."""
    number = number_in(text, most=3)
    return number if number and number <= MOST_PAGES else 0
