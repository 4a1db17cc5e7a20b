"""Guards of the site, and the tests of `make test` that have to notice when one is taken out.

Each is a piece of the source and what stands in its place without the guard. `make guards` takes out one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = "dealsite/data"


@dataclass(frozen=True, slots=True)
class Guard:
    """What holds, the source that holds it, the same without it, and where a test has to fail."""

    holds: str
    path: str
    source: str
    without: str
    tests: str

    def taken_out(self, text: str) -> str:
        """Return a module's text without the guard; ValueError unless it stands there exactly once."""
        if text.count(self.source) != 1:
            raise ValueError(f"{self.path} holds this guard {text.count(self.source)} times: {self.holds}")
        return text.replace(self.source, self.without)


GUARDS = [
    Guard(
        "an order is placed once",
        f"{DATA}/commerce/order/checkout.py",
        "            item=order_item(order),\n            when=(absent(),),",
        "            item=order_item(order),\n            when=(),",
        "tests/data/commerce/test_checkout.py",
    ),
    Guard(
        "an order is placed for the cart that was shown",
        f"{DATA}/commerce/order/checkout.py",
        "when=at_version(head.version)",
        "when=()",
        "tests/data/commerce/test_shop_races.py",
    ),
    Guard(
        "what is sold out cannot be bought",
        f"{DATA}/commerce/order/checkout.py",
        'when=(*as_shown, missing("stock"))',
        "when=as_shown",
        "tests/data/commerce/test_checkout.py",
    ),
    Guard(
        "a payment's sums are applied once",
        f"{DATA}/commerce/payment/payment_totals.py",
        'when=(present("kind"), missing("applied"))',
        'when=(present("kind"),)',
        "tests/data/commerce/test_payments.py tests/data/commerce/test_charging.py",
    ),
    Guard(
        "a payment is charged by one worker",
        f"{DATA}/commerce/payment/charging.py",
        'when=(equals("GSI3SK", row["GSI3SK"]),)',
        "when=()",
        "tests/data/commerce/test_charging.py",
    ),
    Guard(
        "a transaction id is one payment's own",
        f"{DATA}/commerce/payment/charging.py",
        "when=(absent(),), otherwise=TransactionTaken()",
        "when=(), otherwise=TransactionTaken()",
        "tests/data/commerce/test_charging.py",
    ),
    Guard(
        "an order whose lines do not add up is refused",
        f"{DATA}/commerce/order/order_lines.py",
        "    if problem:\n        raise problem\n    return order, lines",
        "    return order, lines",
        "tests/data/commerce/test_order_lines.py",
    ),
    Guard(
        "an order changes only from the status that was seen",
        f"{DATA}/commerce/order/fulfilment.py",
        'when=(equals("version", order.version),)',
        "when=()",
        "tests/data/commerce/test_orders.py tests/data/commerce/test_shop_races.py",
    ),
    Guard(
        "a visitor's cart is merged once",
        f"{DATA}/commerce/cart/merging.py",
        "when=at_version(version), otherwise=CartChanged()",
        "when=(), otherwise=CartChanged()",
        "tests/data/commerce/test_carts.py tests/data/commerce/test_shop_races.py",
    ),
    Guard(
        "two editors never overwrite each other's deal",
        f"{DATA}/catalogue/deal/deal_record.py",
        'when=(equals("writes", deal.writes),)',
        "when=()",
        "tests/data/catalogue/test_deals.py tests/data/test_races.py",
    ),
    Guard(
        "a deal is published under an id once",
        f"{DATA}/catalogue/deal/publishing.py",
        "Put(key=keys.deal(deal_id), item=item, when=(absent(),), otherwise=taken),\n"
        "        Put(key=keys.offer(deal_id), item=offer, when=(absent(),), otherwise=taken),",
        "Put(key=keys.deal(deal_id), item=item), Put(key=keys.offer(deal_id), item=offer),",
        "tests/data/catalogue/test_deals.py tests/data/test_races.py",
    ),
    Guard(
        "a deal is published with its brand's name of now",
        f"{DATA}/catalogue/deal/publishing.py",
        'when=(equals("name", brand.name),)',
        "when=()",
        "tests/data/catalogue/test_brands.py tests/data/test_races.py tests/data/catalogue/test_deals.py",
    ),
    Guard(
        "a featured list is set on top of what was shown",
        f"{DATA}/catalogue/featured.py",
        "set=item, when=(as_read,)",
        "set=item, when=()",
        "tests/data/catalogue/test_featured.py tests/data/test_races.py",
    ),
    Guard(
        "a name is one user's",
        f"{DATA}/people/users.py",
        "                    when=(absent(),),",
        "                    when=(),",
        "tests/data/people/test_users.py",
    ),
    Guard(
        "an e-mail address is one user's",
        f"{DATA}/people/profiles.py",
        "        when=(absent(),),",
        "        when=(),",
        "tests/data/people/test_users.py tests/data/people/test_profiles.py",
    ),
    Guard(
        "a code of the second factor is good once",
        f"{DATA}/people/two_factor.py",
        'when=(equals("id", factor.id), either(missing("last_step"), below("last_step", step)))',
        'when=(equals("id", factor.id),)',
        "tests/data/people/test_two_factor.py",
    ),
    Guard(
        "a recovery code is good once",
        f"{DATA}/people/two_factor.py",
        'when=(equals("id", factor.id), contains("recovery", code_hash))',
        'when=(equals("id", factor.id),)',
        "tests/data/people/test_two_factor.py",
    ),
    Guard(
        "what a passkey has signed is good once",
        f"{DATA}/people/passkeys.py",
        "when=(absent(),), otherwise=again",
        "otherwise=again",
        "tests/data/people/test_passkeys.py",
    ),
    Guard(
        "a suspended user is signed in nowhere",
        f"{DATA}/people/sessions.py",
        " or user.suspended_at",
        "",
        "tests/data/people/test_suspension.py",
    ),
    Guard(
        "a reset link is good once",
        f"{DATA}/people/passwords.py",
        '        when=(equals("password", user.password), missing("suspended_at")),\n        otherwise',
        '        when=(missing("suspended_at"),),\n        otherwise',
        "tests/data/people/test_sessions.py tests/accounts/test_passwords.py tests/data/test_races.py",
    ),
    Guard(
        "tries are limited",
        f"{DATA}/people/throttles.py",
        'when=(either(missing("count"), below("count", limit.tries)),)',
        "when=()",
        "tests/data/people/test_throttles.py",
    ),
    Guard(
        "a new device takes no other's place",
        f"{DATA}/people/devices.py",
        'same = (equals("password", user.password), as_read)',
        'same = (equals("password", user.password),)',
        "tests/data/people/test_devices.py",
    ),
    Guard(
        "a message is marked read only where it is",
        f"{DATA}/people/messages.py",
        "when=(exists(),)",
        "when=()",
        "tests/data/people/test_messages.py",
    ),
    Guard(
        "a fan-out goes on in one worker",
        f"{DATA}/people/fan_out.py",
        'when=(equals("taken_by", self.job.taken_by),)',
        "when=()",
        "tests/data/people/test_fan_out.py",
    ),
    Guard(
        "unpublished changes are saved on top of what was shown",
        f"{DATA}/editing/pending_edits.py",
        "    unchanged = at_version(before.version if before else 0)",
        "    unchanged = ()",
        "tests/data/editing/test_pending_edits.py",
    ),
    Guard(
        "what is restored meanwhile is not deleted for good",
        f"{DATA}/editing/trash.py",
        'same = (equals("token", found.token),)',
        "same = ()",
        "tests/data/editing/test_trash.py",
    ),
    Guard(
        "no part of a key holds its separator",
        f"{DATA}/table/key_templates.py",
        'unfit = re.compile("[#',
        'unfit = re.compile("[',
        "tests/data/test_keys.py",
    ),
    Guard(
        "a role is asked for",
        "dealsite/accounts/decorators.py",
        "if not user.has_role(*names):",
        "if False:",
        "tests/cms/people/test_users.py",
    ),
    Guard(
        "a view of the CMS without a role is shut",
        "dealsite/accounts/middleware.py",
        'if match and match.route.startswith(CMS_ROUTE) and not getattr(view, "required_roles", None):',
        "if False:",
        "tests/cms/test_roles_are_named.py",
    ),
    Guard(
        "redirects stay on the site",
        "dealsite/accounts/destinations.py",
        'address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)',
        "bool(address)",
        "tests/accounts/test_sign_in.py",
    ),
    Guard(
        "forms without a token come from this site",
        "dealsite/web/page_cache.py",
        'return site == "same-origin"',
        "return True",
        "tests/shopping/cart/test_cart.py",
    ),
    Guard(
        "a kept page holds nothing personal",
        "dealsite/web/page_cache.py",
        "if (fresh or stale) and not is_personal and",
        "if (fresh or stale) and",
        "tests/web",
    ),
    Guard(
        "a page stands in for five minutes at most, and not past the end of one of its deals",
        "dealsite/web/page_cache.py",
        "kept is None or clock() >= kept.good_until",
        "kept is None",
        "tests/web/test_stale_pages.py",
    ),
    Guard(
        "Markdown brings no markup of its own",
        "dealsite/text/markdown.py",
        "        tags=TAGS,",
        '        tags=TAGS | {"img", "svg", "form"},',
        "tests/text",
    ),
    Guard(
        "nothing is fetched from a private network",
        "dealsite/web/guarded_http.py",
        "if not addresses or not all(is_public(ipaddress.ip_address(address)) for address in addresses):",
        "if not addresses:",
        "tests/web/test_guarded_http.py tests/imports",
    ),
    Guard(
        "a page address names a place of its list",
        f"{DATA}/table/paging.py",
        "if (after and before) or any(cursor and not is_ulid(cursor) for cursor in (after, before)):",
        "if False:",
        "tests/data/people/test_messages.py",
    ),
    Guard(
        "a question sees the tables of its asker's roles",
        "dealsite/lake/entities.py",
        "        if self.audience not in roles:\n            return None\n",
        "",
        "tests/ask/test_audience.py",
    ),
    Guard(
        "an answer is gone with the role that it was asked in",
        "dealsite/ask/runs.py",
        ' or not keeps_reach(asked["roles"], roles)',
        "",
        "tests/ask/test_audience.py",
    ),
    Guard(
        "a stranger cannot fill the security log",
        "dealsite/accounts/security_log.py",
        "and self.of_network[network] < MOST_OF_NETWORK",
        "",
        "tests/accounts/test_security_log.py",
    ),
    Guard(
        "no address with a token stands in the log",
        "dealsite/web/request_log.py",
        "route if arg == request.path else arg",
        "arg",
        "tests/accounts/test_no_secret_is_logged.py",
    ),
    Guard(
        "shoppers see no deal before its time",
        f"{DATA}/catalogue/deal/deal_record.py",
        "if not deal.card.is_visible(now):",
        "if False:",
        "tests/shopping/catalogue/test_scheduled.py",
    ),
    Guard(
        "a part ends with a launcher that is killed",
        "dealsite/engine/supervisor.py",
        "preexec_fn=functools.partial(end_with_parent, os.getpid(), signal.SIGKILL),",
        "",
        "tests/setup/test_process_tree.py",
    ),
    Guard(
        "what a part leaves in its group is killed",
        "dealsite/engine/supervisor.py",
        "os.killpg(process.pid, signal.SIGKILL)",
        "pass",
        "tests/setup/test_process_tree.py",
    ),
    Guard(
        "what escapes from its group is killed",
        "dealsite/processes/orphans.py",
        "_is_adopting = ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0",
        "_is_adopting = True",
        "tests/setup/test_process_tree.py",
    ),
    Guard(
        "what an earlier run left is ended",
        "dealsite/processes/launcher.py",
        "for one in orphans.end_earlier(settings.VAR):",
        "for one in ():",
        "tests/setup/test_process_tree.py",
    ),
    Guard(
        "what a running launcher started is left alone",
        "dealsite/processes/orphans.py",
        " and _identity(int(launcher)) != identity",
        "",
        "tests/setup/test_process_tree.py",
    ),
    Guard(
        "nobody behind a proxy on this machine sees the details of /readyz",
        "dealsite/web/health.py",
        "if any(name in request.headers for name in OF_PROXIES):",
        "if False:",
        "tests/web/test_health.py",
    ),
    Guard(
        "a storm of probes writes no more than one",
        "dealsite/web/readiness.py",
        "if tried_at - self._tried_at < WRITE_EVERY:",
        "if False:",
        "tests/web/test_readiness.py",
    ),
    Guard(
        "a text in an event makes no line of its own",
        "dealsite/web/request_log.py",
        'text if text.isprintable() else "".join(map(_printable, text))',
        "text",
        "tests/web/test_log_lines.py",
    ),
    Guard(
        "a joiner that nobody sees makes no other brand",
        f"{DATA}/names.py",
        'unicodedata.normalize("NFKD", without_joiners(normalise(name)).casefold())',
        'unicodedata.normalize("NFKD", normalise(name).casefold())',
        "tests/data/test_names.py",
    ),
    Guard(
        "what a newer build wrote is not changed",
        f"{DATA}/table/configuration.py",
        "replace(write, when=(*write.when, allowed)).request()",
        "write.request()",
        "tests/data/table/test_item_schemas.py",
    ),
    Guard(
        "an upgrade is stored only over what it was made of",
        f"{DATA}/table/upgrading.py",
        '*(equals(name, value) for name, value in seen.items() if name not in ("PK", "SK", SCHEMA)),',
        "",
        "tests/data/table/test_item_schemas.py",
    ),
    Guard(
        "an upgrade is stored only where what it missed is still missing",
        f"{DATA}/table/upgrading.py",
        "*(missing(name) for name in sorted({*asked, *changed} - item.keys())),",
        "",
        "tests/data/table/test_item_schemas.py",
    ),
    Guard(
        "one process goes on with a migration",
        f"{DATA}/integrity/migrations.py",
        "item=item, when=(same,), otherwise=VersionConflict()",
        "item=item",
        "tests/data/integrity/test_migrations.py",
    ),
    Guard(
        "a quarantined item is deleted only as it was seen",
        f"{DATA}/integrity/decisions.py",
        "gone = Delete(key=entry.key, when=unchanged, otherwise=",
        "gone = Delete(key=entry.key, when=(), otherwise=",
        "tests/data/integrity/test_decisions.py",
    ),
    Guard(
        "a quarantined item is corrected only as it was seen",
        f"{DATA}/integrity/decisions.py",
        "repair_write(item, wanted), when=unchanged, otherwise=",
        "repair_write(item, wanted), when=(), otherwise=",
        "tests/data/integrity/test_decisions.py",
    ),
    Guard(
        "a deletion is not undone over a new item",
        f"{DATA}/integrity/decisions.py",
        "item=was, when=(absent(),), otherwise=taken)",
        "item=was, when=(), otherwise=taken)",
        "tests/data/integrity/test_decisions.py",
    ),
    Guard(
        "one decision is made on an entry of the quarantine",
        f"{DATA}/integrity/quarantine_record.py",
        "item=item, when=when, otherwise=VersionConflict())",
        "item=item, when=(), otherwise=VersionConflict())",
        "tests/data/integrity/test_quarantine.py tests/data/integrity/test_decisions.py",
    ),
    Guard(
        "a night's check is planned once",
        f"{DATA}/integrity/check_runs.py",
        "Put(key=put.key, item=put.item, when=(absent(),))",
        "Put(key=put.key, item=put.item, when=())",
        "tests/worker/test_nightly.py",
    ),
    Guard(
        "a worker whose nightly check another has taken notes nothing",
        "dealsite/worker/nightly.py",
        "    jobs.save_checkpoint(job, {}, now=clock())  # whoever",
        "    # whoever",
        "tests/worker/test_nightly.py",
    ),
    Guard(
        "one file of a person's data is written at a time",
        f"{DATA}/people/my_data.py",
        'when=(equals("my_data", seen),) if seen else (missing("my_data"), equals("username", username)),',
        'when=(equals("username", username),),',
        "tests/data/people/test_my_data.py",
    ),
    Guard(
        "what is secret is in no file of a person's data",
        f"{DATA}/entities/personal.py",
        "if name not in item or kind.secret:",
        "if name not in item:",
        "tests/data/people/test_my_data.py",
    ),
    Guard(
        "nobody else is named in a file of a person's data",
        f"{DATA}/entities/personal.py",
        'value if value in names or value in ("", "-") else SOMEBODY_ELSE',
        "value",
        "tests/data/people/test_my_data.py",
    ),
    Guard(
        "a job about a person names nobody once it is done",
        "dealsite/worker/loop.py",
        "jobs.finish(job, forget=job.kind in OF_PERSONS)",
        "jobs.finish(job)",
        "tests/data/people/test_my_data.py",
    ),
    Guard(
        "a file of one's own data asks for the password",
        "dealsite/accounts/my_data.py",
        '@require_http_methods(["GET", "HEAD", "POST"])\n@fresh\n',
        '@require_http_methods(["GET", "HEAD", "POST"])\n',
        "tests/accounts/test_my_data.py",
    ),
]
