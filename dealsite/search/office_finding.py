"""Finding for the back office: orders by words, numbers and amounts, narrowed by filters; customers and payments."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from dealsite.data import keys
from dealsite.data.commerce.countries import country_of
from dealsite.data.commerce.order_record import DECLINED, OrderCard
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import CANCELLED, PLACED, SHIPPED
from dealsite.data.names import normalise
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.ids import folded
from dealsite.search import office, reader, site_index
from dealsite.search.documents import LETTERS_FOR_A_TYPO, NEVER, RUN, fold, words_of
from dealsite.search.finding import MOST_PAGES, PAGE_SIZE
from dealsite.search.lists import NOT_KNOWN
from dealsite.search.office import ORDER, OfficeDocument
from dealsite.search.queries import (
    Query,
    Searcher,
    Sort,
    all_of,
    any_of,
    begins,
    between,
    close,
    phrase,
    term,
)
from dealsite.search.question import (
    LETTERS_FOR_TWO_TYPOS,
    LETTERS_OF_A_BEGINNING,
    MOST_CHARACTERS,
    MOST_WORDS,
)

FAILED = "failed"  # the list of orders with a payment that was declined
OLDEST_FIRST = (PLACED.lower(), SHIPPED.lower())
NEWEST: Sort = ("newest", "desc")
OLDEST: Sort = ("newest", "asc")
MOST_VALUES = 200  # of a field, those that most orders have
AMOUNT = re.compile(r"(\d{1,3}(?:[.,'’]\d{3})+|\d+)(?:[.,](\d\d?))?")
CURRENCIES = "€$£¥"


@dataclass(frozen=True)
class OrdersQuestion:
    """Words, numbers or amounts, and filters; what is empty filters nothing.

    `listed` is a status in small letters, or FAILED. `product` is a deal's id, or words of its title. Amounts are
    Decimal with cents, from and to; they were placed at `first` or later, and before `until`.
    """

    text: str = ""
    listed: str = ""
    payment_state: str = ""
    country: str = ""
    tag: str = ""
    product: str = ""
    first: datetime | None = None
    until: datetime | None = None
    least: Decimal | None = None
    most: Decimal | None = None


@dataclass(frozen=True)
class OrdersFound:
    """One page of orders; `total` of them on all pages, which come to `sum`, and `numbers` in each list.

    `ready`: there is an index to ask.
    """

    ready: bool = True
    orders: list[OfficeDocument] = field(default_factory=list)
    total: int = 0
    sum: Decimal = ZERO
    pages: int = 0
    numbers: dict[str, int] = field(default_factory=dict)


def find_orders(question: OrdersQuestion, *, page: int = 1, size: int = PAGE_SIZE) -> OrdersFound:
    """Return one page of orders, newest first; those that wait, oldest first. No requests.

    Typos are forgiven where nothing is found otherwise.
    """

    def ask(searcher: Searcher[OfficeDocument]) -> OrdersFound:
        return _orders(searcher, question, page, size)

    return site_index.answer(OfficeDocument, ask, OrdersFound(ready=False))


def _orders(
    searcher: Searcher[OfficeDocument], question: OrdersQuestion, page: int, size: int
) -> OrdersFound:
    everywhere = _of_all_lists(searcher, question)
    counted = searcher.aggregate(everywhere, {"status": _terms("status"), "payment": _terms("payment_state")})
    numbers = {status.lower(): number for status, number in _numbers(counted["status"]).items()}
    numbers[""] = sum(numbers.values())
    numbers[FAILED] = _numbers(counted["payment"]).get(DECLINED, 0)
    listed = question.listed
    wanted = _of_list(everywhere, listed)
    sort = OLDEST if listed in OLDEST_FIRST else NEWEST
    total = numbers.get(listed, 0)
    return OrdersFound(
        orders=searcher.search(wanted, size, offset=(page - 1) * size, sort=sort).rows,
        total=total,
        sum=_amount(searcher.aggregate(wanted, {"sum": {"sum": {"field": "cents"}}})["sum"]),
        pages=min(-(-total // size), MOST_PAGES),
        numbers=numbers,
    )


def placed(first: datetime, until: datetime) -> tuple[int, Decimal] | None:
    """Return how many orders were placed in a span and not cancelled, and what they come to. No requests.

    None while there is no index.
    """
    asked = all_of([term("kind", ORDER), *_filters(OrdersQuestion(first=first, until=until))])
    of_each = _terms("status") | {"aggs": {"sum": {"sum": {"field": "cents"}}}}

    def ask(searcher: Searcher[OfficeDocument]) -> tuple[int, Decimal]:
        found = searcher.aggregate(asked, {"of": of_each})["of"]["buckets"]
        kept = [one for one in found if one["key"] != CANCELLED]
        return sum(one["doc_count"] for one in kept), sum((_amount(one["sum"]) for one in kept), ZERO)

    return site_index.answer(OfficeDocument, ask, None)


def in_use() -> dict[str, list[str]]:
    """Return the countries (codes) and tags (folded) of all orders, by which they can be narrowed down. No requests."""

    def ask(searcher: Searcher[OfficeDocument]) -> dict[str, list[str]]:
        found = searcher.aggregate(term("kind", ORDER), {"country": _terms("country"), "tag": _terms("tags")})
        return {name: sorted(filter(None, _numbers(found[name]))) for name in found}

    return site_index.answer(OfficeDocument, ask, {"country": [], "tag": []})


def _terms(name: str) -> dict[str, dict[str, object]]:
    return {"terms": {"field": name, "size": MOST_VALUES}}


@dataclass(frozen=True)
class FoundByText:
    """One page of what was found, the newest first; `total` on all pages. `ready`: there is an index to ask."""

    ready: bool = True
    rows: list[OfficeDocument] = field(default_factory=list)
    total: int = 0
    pages: int = 0


def find_by_text(text: str, kind: str, *, page: int = 1, size: int = PAGE_SIZE) -> FoundByText:
    """Return one page of the orders, customers or payments that have such words, numbers or amounts. No requests.

    Typos are forgiven where nothing is found otherwise.
    """

    def ask(searcher: Searcher[OfficeDocument]) -> FoundByText:
        of_kind = [term("kind", kind)]
        asked, offset = all_of([*of_kind, *_text(searcher, text, of_kind)]), (page - 1) * size
        rows, total = searcher.search(asked, size, offset=offset, sort=NEWEST, count=True)
        return FoundByText(rows=rows, total=total, pages=min(-(-total // size), MOST_PAGES))

    return site_index.answer(OfficeDocument, ask, FoundByText(ready=False))


@dataclass(frozen=True, slots=True)
class CustomerSums:
    """What somebody's orders come to, how many they are, and what of it is paid, to be paid, and was declined."""

    orders: int = 0
    ordered: Decimal = ZERO
    paid: Decimal = ZERO
    open: Decimal = ZERO
    failed: Decimal = ZERO

    @property
    def owed(self) -> Decimal:
        """What counts for the limits of credit."""
        return self.open + self.failed


def sums_of(usernames: Collection[str]) -> dict[str, CustomerSums]:
    """Return what the orders of some customers come to; nothing of those without any. No requests."""
    theirs = all_of([term("kind", ORDER), any_of(term("username", name) for name in usernames)])
    added = {name: {"sum": {"field": name}} for name in ("cents", *office.SUMS)}
    of_each = {"terms": {"field": "username", "size": len(usernames)}, "aggs": added}

    def ask(searcher: Searcher[OfficeDocument]) -> dict[str, CustomerSums]:
        found = searcher.aggregate(theirs, {"of": of_each})["of"]["buckets"]
        return {
            one["key"]: CustomerSums(one["doc_count"], *(_amount(one[name]) for name in added))
            for one in found
        }

    return site_index.answer(OfficeDocument, ask, {}) if usernames else {}


def _amount(added: dict[str, float]) -> Decimal:
    return Decimal(round(added["value"])) / 100


def every_order(question: OrdersQuestion) -> Iterator[OfficeDocument]:
    """Yield all orders of a question, the oldest first; Unavailable while there is no index. No requests.

    Whatever comes or goes meanwhile, none is left out or comes twice.
    """
    searcher = site_index.searcher(OfficeDocument)
    if searcher is None:
        raise Unavailable(NOT_KNOWN)
    try:
        with reader.unreadable_if_it_fails():
            asked = _of_list(_of_all_lists(searcher, question), question.listed)
            yield from searcher.every(asked, OLDEST)
    except reader.Unreadable as error:
        raise Unavailable(NOT_KNOWN) from error


def known_orders(cards: Iterable[OrderCard]) -> dict[str, OfficeDocument]:
    """Return what the index has of some orders, by their ids. No requests."""
    named = {card.id: office.document_key(keys.order(card.username, card.id)) for card in cards}

    def ask(searcher: Searcher[OfficeDocument]) -> dict[str, OfficeDocument]:
        found = searcher.known(named.values())
        return {id_: found[key] for id_, key in named.items() if key in found}

    return site_index.answer(OfficeDocument, ask, {})


def _of_all_lists(searcher: Searcher[OfficeDocument], question: OrdersQuestion) -> Query:
    others = [term("kind", ORDER), *_filters(question)]
    return all_of([*others, *_text(searcher, question.text, others)])


def _of_list(everywhere: Query, listed: str) -> Query:
    if not listed:
        return everywhere
    own = term("payment_state", DECLINED) if listed == FAILED else term("status", listed.upper())
    return all_of([everywhere, own])


def _filters(question: OrdersQuestion) -> list[Query]:
    found = []
    if question.payment_state:
        found.append(term("payment_state", question.payment_state))
    if question.country:
        found.append(term("country", country_of(question.country) or question.country))
    if question.tag:
        found.append(term("tags", folded(question.tag)))
    if question.product:
        of_words = all_of(_word("titles", word) for word in words_of(question.product)[:MOST_WORDS])
        found.append(any_of([term("deals", question.product.strip().upper()), of_words]))
    if question.first or question.until:
        low = office.place_of(question.first) if question.first else 0
        high = office.place_of(question.until) - 1 if question.until else NEVER
        found.append(between("newest", low, high))
    if question.least is not None or question.most is not None:
        low = office.cents(question.least) if question.least is not None else 0
        high = office.cents(question.most) if question.most is not None else NEVER
        found.append(between("cents", low, high))
    return found


def _text(searcher: Searcher[OfficeDocument], text: str, others: list[Query]) -> list[Query]:
    """Return what a text asks for beside other things: as it is typed, or with typos where that finds nothing."""
    typed = fold(normalise(text[:MOST_CHARACTERS])).split()
    units = [unit for unit in typed if words_of(unit)][:MOST_WORDS]
    if not units:
        return []
    exact = any_of([all_of(_unit(unit) for unit in units), *_number("".join(units))])
    if searcher.search(all_of([*others, exact]), 1).rows:
        return [exact]
    return [all_of(_unit(unit, may_be_wrong=True) for unit in units)]


def _unit(unit: str, *, may_be_wrong: bool = False) -> Query:
    """What stands between two spaces: words, an amount, or a part of a number."""
    found = [all_of(_word("words", word, may_be_wrong=may_be_wrong) for word in words_of(unit))]
    found += _number(unit)
    if amount := AMOUNT.fullmatch(unit.strip(CURRENCIES)):
        whole, part = re.sub(r"\D", "", amount[1]), amount[2] or ""
        found.append(between("cents", int(whole + part.ljust(2, "0")), int(whole + part.ljust(2, "9"))))
    return any_of(found)


def _word(name: str, word: str, *, may_be_wrong: bool = False) -> Query:
    """A word that is this one, or begins so."""
    run, wrong = RUN.match(word), 0
    if may_be_wrong and not run and not any(c.isdigit() for c in word):
        wrong = (len(word) >= LETTERS_FOR_A_TYPO) + (len(word) >= LETTERS_FOR_TWO_TYPOS)
    found = [close(name, word, wrong)]
    if run or len(word) >= LETTERS_OF_A_BEGINNING:
        found.append(begins(name, word))
    return any_of(found)


def _number(text: str) -> list[Query]:
    """A number that has this part, maybe with letters that were read for digits; nothing for too short a part."""
    plain = office.bare(text)
    return [
        phrase("pieces", pieces)
        for pieces in map(office.pieces_of, dict.fromkeys((plain, plain.translate(office.SAID))))
        if pieces
    ]


def _numbers(counted: dict[str, list[dict[str, int]]]) -> dict[str, int]:
    return {str(one["key"]): one["doc_count"] for one in counted["buckets"]}
