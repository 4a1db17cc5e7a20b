"""A whole shop against a plain model: shoppers, a visitor and an editor do what they like, in any order.

Each run has shoppers and deals of its own in a table that many runs share, so that no run waits for a new
table; the table is checked whole after each twenty-five. Full carts are small ones here, and now and then a
transaction has no room for the marks of what it sells out.

`make test` opens 25 shops, `make test-all` 575 others. SHOP_RUNS in the environment asks for more runs than
these 600, SHOP_LOCAL_RUNS for more than 30 on DynamoDB Local.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.conf import settings as site_settings
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from dealsite.data.catalogue import brands, deal_changes, deals, deals as stock_marks, publishing
from dealsite.data.commerce import cart_changes, carts, order_changes, orders, payments
from dealsite.data.commerce.cart_changes import CannotAdd, CartAddition
from dealsite.data.commerce.carts import CartChanged, CartFull, CartOwner
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.editing import trash
from dealsite.data.entities.commerce import ACTIVE, CANCELLED, DELIVERED, PLACED, PLANS, SAVED, SHIPPED
from dealsite.data.integrity import checks
from dealsite.data.jobs.jobs import Job
from dealsite.data.table import errors, ids
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_category, make_content, make_id
from tests.people import make_user
from tests.shop import ADDRESS, CATEGORY, waiting

RUNS = max(600, int(os.environ.get("SHOP_RUNS") or 0))
LOCAL_RUNS = max(30, int(os.environ.get("SHOP_LOCAL_RUNS") or 0))
STEPS = 50
RUNS_A_TABLE = 25
DEALS = 6
FULL, SAVED_FULL = 4, 3  # how many lines a cart holds here
PRICES = [Decimal("99.99"), Decimal("20.00"), Decimal("12.34"), Decimal("0.50")]
_numbers = itertools.count(1)


@dataclass
class ModelDeal:
    price: Decimal
    stock: int | None
    expires_at: datetime | None = None
    gone: bool = False
    prices: list[Decimal] = field(default_factory=list)


@dataclass
class ModelLine:
    id: str
    status: str
    at: datetime
    quantity: int
    price: Decimal
    counted: bool
    token: str = ""


@dataclass
class ModelCart:
    version: int = 0
    lines: dict[str, ModelLine] = field(default_factory=dict)
    ends_at: datetime | None = None

    def count(self, status: str) -> int:
        return sum(line.status == status for line in self.lines.values())

    @property
    def active(self) -> dict[str, ModelLine]:
        return {deal: line for deal, line in self.lines.items() if line.status == ACTIVE}

    @property
    def total(self) -> Decimal:
        return sum((line.price * line.quantity for line in self.active.values()), Decimal("0.00"))


@dataclass
class ModelOrder:
    username: str
    lines: dict[str, ModelLine]
    total: Decimal
    plan: int
    form: Purchase
    status: str = PLACED


STOCKS = [None, 50, 1, 2, 5, 0]
QUANTITIES = [1, 1, 1, 1, 2, 2, 3, 600]
SPANS = [timedelta(minutes=1), HOUR, DAY, 20 * DAY]
STEPS_OF_AN_ORDER = [SHIPPED, DELIVERED, CANCELLED, CANCELLED]
# One rule that chooses among these by weight: hypothesis would leave out half of many rules in each run.
ACTIONS = [
    *["add"] * 6,
    *["change_quantity", "move", "remove", "merge", "order_again"],
    *["look_and_accept"] * 2,
    *["open_checkout", "send_a_form_of_old"],
    *["check_out"] * 4,
    *["handle"] * 3,
    *["edit"] * 4,
    *["delete", "restore", "wait"],
]


class Shop(RuleBasedStateMachine):
    """Two shoppers, a visitor and an editor with six deals, which are deleted and restored."""

    placed: set[str] = set()  # over all runs of a table
    shipped: set[str] = set()

    # What there is

    @initialize(
        stocks=st.lists(st.sampled_from([None, None, 50, 5, 3, 2, 1]), min_size=DEALS, max_size=DEALS)
    )
    def open(self, stocks: list[int | None]) -> None:
        number = next(_numbers)
        self.now = NOW
        self.brand = brands.Brand("nordlicht", "Nordlicht")
        self.names = [f"ann{number}", f"bob{number}"]
        for name in self.names:
            make_user(name)
        self.owners: list[CartOwner] = [
            *map(carts.user_cart, self.names),
            carts.visitor_cart(f"visitor{number}"),
        ]
        self.carts = {owner: ModelCart() for owner in self.owners}
        self.ids = [make_id() for _ in stocks]
        self.deals = {
            deal_id: ModelDeal(PRICES[n % len(PRICES)], stock)
            for n, (deal_id, stock) in enumerate(zip(self.ids, stocks, strict=True))
        }
        wanted = [
            (deal_id, make_content(price=deal.price, stock=deal.stock), self.brand)
            for deal_id, deal in self.deals.items()
        ]
        publishing.publish_many(wanted, by=EDITOR, now=NOW)
        self.orders: dict[str, ModelOrder] = {}
        self.forms: list[Purchase] = []
        for who, n in itertools.product(range(3), range(3)):
            self.add(who, who + n, n, flag=False)

    @rule(
        action=st.sampled_from(ACTIONS),
        who=st.integers(0, 2),  # the last one is a visitor
        n=st.integers(0, DEALS - 1),
        k=st.integers(0, 11),
        flag=st.booleans(),
    )
    def step(self, action: str, who: int, n: int, k: int, flag: bool) -> None:
        """Do one thing; what the numbers stand for, each action says."""
        getattr(self, action)(who, n, k, flag)

    # What the model says

    def cart(self, owner: CartOwner) -> ModelCart:
        cart = self.carts[owner]
        if cart.ends_at and cart.ends_at <= self.now:
            cart = self.carts[owner] = ModelCart()
        return cart

    def changed(self, owner: CartOwner) -> None:
        cart = self.carts[owner]
        if owner.visitor and not cart.version:
            cart.ends_at = self.now + carts.VISITOR_CART_LIFETIME
        cart.version += 1

    def problems(self, deal_id: str, line: ModelLine) -> tuple[str, ...]:
        deal, found = self.deals[deal_id], []
        if deal.gone:
            return (carts.GONE,)
        if deal.expires_at and deal.expires_at <= self.now:
            found.append(carts.EXPIRED)
        elif deal.stock == 0:
            found.append(carts.SOLD_OUT)
        elif deal.stock is not None and deal.stock < line.quantity:
            found.append(carts.FEWER_LEFT)
        if deal.price != line.price:
            found.append(carts.PRICE_UP if deal.price > line.price else carts.PRICE_DOWN)
        return tuple(found)

    def model_add(self, cart: ModelCart, wanted: CartAddition) -> bool | None:
        """Add to the model; None if it is refused, False if that form was sent before."""
        deal, line = self.deals[wanted.deal], cart.lines.get(wanted.deal)
        expired = deal.expires_at is not None and deal.expires_at <= self.now
        if deal.gone or expired or deal.stock == 0:
            return None
        if line and line.token == wanted.token:
            return False
        quantity = wanted.quantity + (line.quantity if line else 0)
        if quantity > 999 or (deal.stock is not None and quantity > deal.stock):
            return None
        if line and line.status == ACTIVE:
            line.quantity, line.token = quantity, wanted.token
            return True
        if cart.count(ACTIVE) == FULL:
            return None
        price = deal.price if wanted.seen is None else wanted.seen
        cart.lines[wanted.deal] = ModelLine(
            line.id if line else wanted.line_id,
            ACTIVE,
            self.now,
            quantity,
            price,
            deal.stock is not None,
            wanted.token,
        )
        return True

    # Shoppers

    def add(self, who: int, n: int, k: int, flag: bool) -> None:
        owner, deal_id = self.owners[who], self.ids[n]
        seen = (self.deals[deal_id].prices or [None])[-1] if flag else None
        wanted = CartAddition(deal_id, QUANTITIES[k % 8], self.new_id(), make_id(NOW, 900 + k % 5), seen)
        outcome = self.model_add(self.cart(owner), wanted)
        if outcome is None:
            with pytest.raises(CannotAdd):
                cart_changes.add(owner, wanted, now=self.now)
            return
        cart_changes.add(owner, wanted, now=self.now)
        if outcome:
            self.changed(owner)

    def change_quantity(self, who: int, n: int, k: int, flag: bool) -> None:
        owner, (deal_id, quantity) = self.owners[who], (self.in_cart(who, n), QUANTITIES[k % 8])
        line, deal = self.cart(owner).lines.get(deal_id), self.deals[deal_id]
        refusal: type[Exception] | None = None
        if line is None:
            refusal = errors.NotFound
        elif quantity > line.quantity and (deal.gone or (deal.stock is not None and quantity > deal.stock)):
            refusal = CannotAdd
        if refusal:
            with pytest.raises(refusal):
                cart_changes.change_quantity(owner, deal_id, quantity, now=self.now)
            return
        cart_changes.change_quantity(owner, deal_id, quantity, now=self.now)
        if line and line.quantity != quantity:
            line.quantity = quantity
            self.changed(owner)

    def move(self, who: int, n: int, k: int, flag: bool) -> None:
        owner, deal_id, status = self.owners[who], self.in_cart(who, n), ACTIVE if flag else SAVED
        cart = self.cart(owner)
        line = cart.lines.get(deal_id)
        if line is None:
            return
        full = cart.count(status) == (FULL if status == ACTIVE else SAVED_FULL)
        if line.status != status and full:
            with pytest.raises(CartFull):
                cart_changes.move(owner, ref(line), status, now=self.now)
            return
        moved = cart_changes.move(owner, ref(line), status, now=self.now)
        assert moved is not None
        if line.status != status:
            line.status, line.at, line.token = status, self.now, ""
            self.changed(owner)

    def remove(self, who: int, n: int, k: int, flag: bool) -> None:
        owner, deal_id = self.owners[who], self.in_cart(who, n)
        line = self.cart(owner).lines.pop(deal_id, None)
        if line is None:
            return
        gone = cart_changes.remove(owner, ref(line), now=self.now)
        assert gone is not None
        assert (gone.deal, gone.quantity, gone.price) == (deal_id, line.quantity, line.price)
        self.changed(owner)
        if flag:
            assert cart_changes.remove(owner, ref(line), now=self.now) is None

    def look_and_accept(self, who: int, n: int, k: int, flag: bool) -> None:
        owner = self.owners[who]
        cart = self.cart(owner)
        look = carts.view(carts.read(owner, now=self.now), now=self.now)
        told = {shown.line.deal: shown.problems for shown in look.changed}
        wrong = {deal: found for deal, line in cart.active.items() if (found := self.problems(deal, line))}
        assert told == wrong
        saved = [deal for deal in wrong if {carts.EXPIRED, carts.SOLD_OUT} & set(wrong[deal])]
        if cart.count(SAVED) + len(saved) > SAVED_FULL:
            with pytest.raises(CartFull):
                cart_changes.accept(owner, seen=look.digest, now=self.now)
            return
        cart_changes.accept(owner, seen=look.digest, now=self.now)
        for deal_id, found in wrong.items():
            line, deal = cart.lines[deal_id], self.deals[deal_id]
            if carts.GONE in found:
                del cart.lines[deal_id]
            elif deal_id in saved:
                line.status, line.at, line.token = SAVED, self.now, ""
            else:
                line.price, line.counted = deal.price, deal.stock is not None
                line.quantity = line.quantity if deal.stock is None else min(line.quantity, deal.stock)
        if wrong:
            self.changed(owner)
        assert look.total == cart.total

    def merge(self, who: int, n: int, k: int, flag: bool) -> None:
        who %= 2
        visitor, user = self.owners[2], self.owners[who]
        guests, mine = self.cart(visitor), self.cart(user)
        merged = cart_changes.merge(visitor, self.names[who], now=self.now)
        if not guests.version:
            assert merged == cart_changes.MergeResult()
            return
        before = {deal: line.quantity for deal, line in mine.lines.items()}
        left_out = self.model_merge(guests, mine)
        assert [line.deal for line in merged.left_out] == left_out
        assert len(merged.lines) + len(merged.saved) + len(left_out) == len(guests.lines)
        for deal, line in guests.lines.items():  # no line is lost, none is doubled
            if deal not in left_out:
                assert mine.lines[deal].quantity == min(999, line.quantity + before.get(deal, 0))
        self.carts[visitor] = ModelCart()
        self.changed(user)

    def model_merge(self, guests: ModelCart, mine: ModelCart) -> list[str]:
        left_out = []
        for deal, line in sorted(
            guests.lines.items(), key=lambda pair: (pair[1].status, pair[1].at, pair[1].id)
        ):
            own = mine.lines.get(deal)
            quantity = min(999, line.quantity + (own.quantity if own else 0))
            if own and own.status == SAVED and line.status == ACTIVE and mine.count(ACTIVE) < FULL:
                mine.lines[deal] = replace(line, id=own.id, quantity=quantity, at=self.now, token="")
            elif own:
                own.quantity = quantity
            elif mine.count(line.status) < (FULL if line.status == ACTIVE else SAVED_FULL):
                mine.lines[deal] = replace(line, at=self.now, token="")
            elif line.status == ACTIVE and mine.count(SAVED) < SAVED_FULL:
                mine.lines[deal] = replace(line, status=SAVED, at=self.now, token="")
            else:
                left_out.append(deal)
        return left_out

    # Orders

    def form(self, who: int, plan: int) -> Purchase:
        cart = self.cart(self.owners[who])
        filled: dict[str, Any] = {"name": "Ann"} if "name" in Purchase.__dataclass_fields__ else {}
        return Purchase(
            order_id=self.new_id(),
            username=self.names[who],
            email="ann@example.org",
            version=cart.version,
            total=cart.total,
            address=ADDRESS,
            plan=plan,
            **filled,
        )

    def open_checkout(self, who: int, n: int, k: int, flag: bool) -> None:
        self.forms.append(self.form(who % 2, PLANS[k % 4]))

    def check_out(self, who: int, n: int, k: int, flag: bool) -> None:
        who %= 2
        if k % 4:
            self.look_and_accept(who, n, k, flag)
        self.send(self.form(who, PLANS[(0, 0, 0, 1, 2, 3)[n]]), cramped=flag)

    def send_a_form_of_old(self, who: int, n: int, k: int, flag: bool) -> None:
        if self.forms:
            self.send(self.forms[-1 - k % len(self.forms)], cramped=flag)

    def send(self, form: Purchase, *, cramped: bool) -> None:
        """Send a checkout form; `cramped`: a transaction has no room for marks."""
        earlier = self.orders.get(form.order_id)
        owner = carts.user_cart(form.username)
        cart = self.cart(owner)
        shown = form.version == cart.version and form.total == cart.total and bool(cart.active)
        if earlier and not shown:
            order = order_changes.place(form, now=self.now)
            assert (order.status, order.total) == (earlier.status, earlier.total)
            return
        with pytest.MonkeyPatch.context() as patch:
            if cramped:
                patch.setattr(stock_marks, "MAX_ACTIONS", 0)
            if not shown or any(self.problems(deal, line) for deal, line in cart.active.items()):
                if shown and form.plan not in payments.plans_for(form.total):
                    with pytest.raises(errors.Invalid):
                        order_changes.place(form, now=self.now)
                    return
                with pytest.raises(CartChanged):
                    order_changes.place(form, now=self.now)
                return
            if form.plan not in payments.plans_for(form.total):
                with pytest.raises(errors.Invalid):
                    order_changes.place(form, now=self.now)
                return
            order = order_changes.place(form, now=self.now)
        self.buy(form, cart)
        assert (order.id, order.total, order.card.lines) == (
            form.order_id,
            form.total,
            len(self.orders[form.order_id].lines),
        )

    def buy(self, form: Purchase, cart: ModelCart) -> None:
        lines = cart.active
        for deal_id, line in lines.items():
            deal = self.deals[deal_id]
            line.counted = deal.stock is not None
            if deal.stock is not None:
                deal.stock -= line.quantity
                assert deal.stock >= 0
            del cart.lines[deal_id]
        self.orders[form.order_id] = ModelOrder(form.username, lines, form.total, form.plan, form)
        self.forms.append(form)
        self.changed(carts.user_cart(form.username))

    def handle(self, who: int, n: int, k: int, flag: bool) -> None:
        if not self.orders:
            return
        (order_id, order), step = self.any_order(k), STEPS_OF_AN_ORDER[n % 4]
        before = {SHIPPED: PLACED, DELIVERED: SHIPPED, CANCELLED: PLACED}[step]
        acts: dict[str, Any] = {
            SHIPPED: partial(order_changes.ship, unpaid=True),
            DELIVERED: order_changes.deliver,
            CANCELLED: order_changes.cancel,
        }
        act = acts[step]
        with pytest.MonkeyPatch.context() as patch:
            if flag:
                patch.setattr(stock_marks, "MAX_ACTIONS", 0)
            if order.status not in (before, step):
                with pytest.raises(errors.Conflict):
                    act(order.username, order_id, by="bob", now=self.now)
                return
            assert act(order.username, order_id, by="bob", now=self.now).status == step
        if step == CANCELLED and order.status == PLACED:
            for deal_id, line in order.lines.items():
                deal = self.deals[deal_id]
                if line.counted and deal.stock is not None:
                    deal.stock += line.quantity
        order.status = step

    def order_again(self, who: int, n: int, k: int, flag: bool) -> None:
        if not self.orders:
            return
        _, order = self.any_order(k)
        owner = carts.user_cart(order.username)
        cart = self.cart(owner)
        wanted = [
            CartAddition(deal, line.quantity, self.new_id(), make_id(NOW, 899))
            for deal, line in order.lines.items()
        ]
        outcomes = {one.deal: self.model_add(cart, one) for one in wanted}
        added = cart_changes.add_many(owner, wanted, now=self.now)
        assert set(added.refused) == {deal for deal, outcome in outcomes.items() if outcome is None}
        if any(outcomes.values()):
            self.changed(owner)

    def any_order(self, n: int) -> tuple[str, ModelOrder]:
        return list(self.orders.items())[-1 - n % len(self.orders)]

    def in_cart(self, who: int, n: int) -> str:
        """Return a deal that is in a cart, or any if none is."""
        return [*self.cart(self.owners[who]).lines, *self.ids][n]

    # Editors, and time

    def edit(self, who: int, n: int, k: int, flag: bool) -> None:
        deal_id = self.ids[n]
        model = self.deals[deal_id]
        if model.gone:
            return
        deal = deals.get(deal_id)
        content = deal.content
        assert content.stock == model.stock
        if flag:
            model.prices.append(model.price)
            model.price = PRICES[k % 4]
            content = replace(content, price=model.price)
        elif k < 6:
            model.stock = STOCKS[k]
            content = replace(content, stock=model.stock)
        elif k < 9:
            model.expires_at = None if k < 8 else self.now + (n % 3) * DAY
            content = replace(content, expires_at=model.expires_at)
        deal_changes.edit(deal, content, version=deal.version, brand=self.brand, by=EDITOR, now=self.now)

    def delete(self, who: int, n: int, k: int, flag: bool) -> None:
        model = self.deals[self.ids[n]]
        if flag and k < 4 and not model.gone and sum(deal.gone for deal in self.deals.values()) < 3:
            deal_changes.delete(deals.get(self.ids[n]), by=EDITOR, now=self.now)
            model.gone = True

    def restore(self, who: int, n: int, k: int, flag: bool) -> None:
        model = self.deals[self.ids[n]]
        if model.gone:
            trash.restore("deal", self.ids[n], by=EDITOR, now=self.now)
            model.gone = False

    def wait(self, who: int, n: int, k: int, flag: bool) -> None:
        self.now += SPANS[k % 4]

    # What must hold in the end

    def teardown(self) -> None:
        if not hasattr(self, "orders"):
            return
        for owner in self.owners:
            self.check_cart(owner)
        for order_id, order in self.orders.items():
            self.check_order(order_id, order)
        left = [deal_id for deal_id, deal in self.deals.items() if not deal.gone]
        stock_marks.mark_sold_out(Job("", stock_marks.MARK_SOLD_OUT, {"deals": left}), self.now)
        found = stock_marks.with_offers(self.ids)
        assert set(found) == set(left)
        for deal_id in left:
            assert found[deal_id].stock == self.deals[deal_id].stock
            assert found[deal_id].card.sold_out == (self.deals[deal_id].stock == 0)
        Shop.placed |= {order_id for order_id, order in self.orders.items() if order.status == PLACED}
        Shop.shipped |= {order_id for order_id, order in self.orders.items() if order.status == SHIPPED}

    def check_cart(self, owner: CartOwner) -> None:
        model, cart = self.cart(owner), carts.read(owner, now=self.now)
        assert cart.version == model.version
        lines = [*cart.active, *cart.saved]
        assert len(lines) == len(model.lines) == len(cart.head.lines)
        assert (cart.head.active, cart.head.saved) == (model.count(ACTIVE), model.count(SAVED))
        for line in lines:
            own = model.lines[line.deal]
            assert (line.id, line.status, line.at, line.quantity, line.price) == (
                own.id,
                own.status,
                own.at,
                own.quantity,
                own.price,
            )

    def check_order(self, order_id: str, model: ModelOrder) -> None:
        order = orders.get(model.username, order_id)
        lines = orders.lines_of(order)
        assert order.status == model.status
        assert {line.deal: (line.quantity, line.price, line.counted) for line in lines} == {
            deal: (line.quantity, line.price, line.counted) for deal, line in model.lines.items()
        }
        assert len(lines) == len(model.lines)
        assert order.total == sum(line.total for line in lines) == model.total
        paid = payments.of_order(model.username, order.payments)
        assert sum((payment.amount for payment in paid), Decimal("0.00")) == order.total
        assert len(paid) == (model.plan if model.total else 0)

    def new_id(self) -> str:
        return ids.new_ulid(self.now, next(_numbers))


def ref(line: ModelLine) -> str:
    """Return how a form names a line."""
    return f"{line.status}.{ids.iso(line.at)}.{line.id}"


def run(count: int, monkeypatch: pytest.MonkeyPatch, *, steps: int = STEPS) -> None:
    """Have so many shops open and close in one table, and check it whole."""
    monkeypatch.setattr(cart_changes, "MAX_ACTIVE", FULL)
    monkeypatch.setattr(carts, "MAX_SAVED", SAVED_FULL)
    monkeypatch.setattr(carts, "MAX_SAVED_OF_VISITOR", SAVED_FULL)
    monkeypatch.setattr(Shop, "placed", set())
    monkeypatch.setattr(Shop, "shipped", set())
    make_category(CATEGORY)
    make_brand("Nordlicht")
    for limit in ("ORDER", "OPEN"):  # the model knows no credit
        monkeypatch.setattr(site_settings, f"DEALSITE_CREDIT_{limit}", 10**9)
    run_state_machine_as_test(
        Shop,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            print_blob=True,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    placed, shipped = waiting(PLACED), waiting(SHIPPED)
    assert (len(placed), len(shipped)) == (len(Shop.placed), len(Shop.shipped))
    assert (set(placed), set(shipped)) == (Shop.placed, Shop.shipped)
    assert [str(problem) for problem in checks.find()] == []


@pytest.mark.engines("native")
@pytest.mark.sample(quick=24, whole=3)
@pytest.mark.parametrize("table_number", range(-(-RUNS // RUNS_A_TABLE)))
def test_a_shop_is_as_its_model(table_number, fresh_table, monkeypatch):
    run(RUNS_A_TABLE, monkeypatch)


@pytest.mark.engines("local")
def test_a_shop_is_as_its_model_on_amazons_engine_too(fresh_table, monkeypatch):
    run(LOCAL_RUNS, monkeypatch, steps=30)
