"""Every page of the site, who looks at it, and what is no page."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from django.utils import timezone

from cms.sharing import token_of
from dealsite.accounts import reset_tokens
from dealsite.data import (
    featured_plans,
    orders,
)
from tests.browser.every_page.furnished import ADMIN, DAY, SHOPPER, VISITOR, Content
from tests.builders import EDITOR

NO_PAGES = {
    # What machines read
    *("healthz", "readyz", "media", "robots", "sitemap", "sitemap_pages", "sitemap_brands", "sitemap_day"),
    *("front_page_feed", "brand_feed", "category_feed"),
    # What answers to POST alone, and parts of pages
    *(
        "sign_out",
        "session",
        "cms_restore_deal_version",
        "cms_restore_draft_version",
        "sign_in_here",
        "end_session",
        "end_other_sessions",
        "cms_give_role",
        "cms_take_role",
        "cms_reset_two_factor",
    ),
    *("cms_autosave_setting", "cms_autosave_draft", "cms_autosave_changes"),
    *("cms_discard_changes", "cms_bring_back_changes"),
    *("cms_preview_deal", "cms_preview_frame", "cms_brand_names", "cms_upload_picture", "unread_badge"),
    *("cms_presence", "cms_leave"),
    *("like_brand", "unlike_brand", "watch_brand", "unwatch_brand"),
    *("like_category", "unlike_category", "watch_category", "unwatch_category"),
    *("mark_read", "mark_all_read", "delete_message", "mute_watch", "mute_hot_deals", "mute_all"),
    *("add_to_cart", "cart_badge", "change_quantity", "remove_from_cart", "undo_removal"),
    *("save_for_later", "move_to_cart", "accept_changes", "merge_cart"),
    *("cancel_order", "order_again", "pay", "begin_card", "forget_card"),
    *("cms_order_news", "cms_download_export", "cms_export_list", "cms_import_file"),
    *("cms_start_bulk", "cms_undo_bulk", "cms_bulk_report"),
    *("cms_pause_job", "cms_resume_job", "cms_cancel_job", "cms_retry_job"),
    *("cms_change_end", "cms_describe_deal", "cms_check_link", "cms_accept_link", "cms_publish_ready"),
    *("cms_describe_draft", "cms_unfeature", "cms_feature_again", "cms_daily_numbers"),
    *("cms_cancel_answer", "cms_save_question", "cms_answer_csv"),
    *("cms_choose_columns", "cms_save_view", "cms_rename_view", "cms_move_view", "cms_delete_view"),
    *(
        "cms_expire_deal",
        "cms_undo_expiry",
        "cms_delete_deal",
        "cms_delete_draft",
        "cms_restore",
        "cms_purge",
    ),
    *("cms_duplicate_deal", "cms_duplicate_draft", "cms_cancel_plan", "cms_restore_featured"),
}


def cms(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    return EDITOR, lambda _: [f"/cms/{path}"]


def cms_deal(state: str, action: str = "") -> tuple[str, Callable[[Content], list[str]]]:
    return EDITOR, lambda content: [f"/cms/deals/{content.id(state)}/{action}"]


def office(*paths: str) -> tuple[str, Callable[[Content], list[str]]]:
    return ADMIN, lambda _: [f"/cms/{path}" for path in paths]


def office_order(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    return ADMIN, lambda content: [f"/cms/{path}?order={SHOPPER}/{content.order}"]


def office_payment(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    def address(content: Content) -> list[str]:
        payment = orders.get(SHOPPER, content.order).payments[-1]
        where = urlencode({"account": SHOPPER, "due": payment["due_at"]})
        return [f"/cms/payments/{payment['id']}/{path}?{where}"]

    return ADMIN, address


def account(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    return SHOPPER, lambda _: [f"/account/{path}"]


def public(*paths: str) -> tuple[str, Callable[[Content], list[str]]]:
    return VISITOR, lambda _: list(paths)


def reset_link(content: Content) -> list[str]:
    token = reset_tokens.make(content.users[SHOPPER], now=timezone.now())
    return [f"/account/password-reset/{SHOPPER}/{token}/"]


# URL name -> who looks, and at which addresses
PAGES: dict[str, tuple[str, Callable[[Content], list[str]]]] = {
    "front_page": (VISITOR, lambda content: ["/", f"/?after={content.id('live')}"]),
    "search": public(
        "/search/", "/search/?q=deal+number&page=2", "/search/?q=keybord", "/search/?q=zzzz&price_from=x"
    ),
    "editors_choice": public("/editors-choice/"),
    "brands": public("/brands/"),
    "brand": public("/brands/nordlicht/", "/brands/nobody/"),
    "category": public("/categories/peripherals-networking/", "/categories/toys-hobbies/"),
    "deal": (
        VISITOR,
        lambda content: [content.deal(state) for state in content.deals if state != "scheduled"],
    ),
    "sign_up": public("/account/sign-up/"),
    "sign_in": public("/account/sign-in/"),
    "reset_password": public("/account/password-reset/"),
    "reset_password_sent": public("/account/password-reset/sent/"),
    "new_password": public("/account/password-reset/new/"),
    "follow_reset_link": (VISITOR, reset_link),
    "sign_in_code": public("/account/sign-in/code/"),
    "account": account(""),
    "two_factor": (ADMIN, lambda _: ["/account/two-factor/"]),
    "set_up_two_factor": account("two-factor/set-up/"),
    "renew_recovery_codes": (ADMIN, lambda _: ["/account/two-factor/recovery-codes/"]),
    "turn_off_two_factor": (ADMIN, lambda _: ["/account/two-factor/off/"]),
    "edit_profile": account("profile/"),
    "change_password": account("password/"),
    "sessions": account("sessions/"),
    "delete_account": account("delete/"),
    "inbox": (SHOPPER, lambda _: ["/account/messages/", "/account/messages/?show=unread"]),
    "open_message": (SHOPPER, lambda content: [f"/account/messages/{content.message}/"]),
    "likes": account("likes/"),
    "watching": account("watching/"),
    "message_settings": account("messages/settings/"),
    "cart": (SHOPPER, lambda _: ["/cart/"]),
    "checkout": (SHOPPER, lambda _: ["/checkout/"]),
    "checkout_done": (SHOPPER, lambda content: [f"/checkout/{content.order}/done/"]),
    "orders": (SHOPPER, lambda _: ["/account/orders/", "/account/orders/?status=SHIPPED"]),
    "order": (SHOPPER, lambda content: [f"/account/orders/{content.order}/"]),
    "payments": account("payments/"),
    "card": account("card/"),
    "finish_card": account("card/finish/"),
    "cms_home": cms(""),
    "cms_attention": (
        EDITOR,
        lambda _: (
            [f"/cms/attention/{name}/" for name in ("drafts", "ending", "featured", "links", "sold-out")]
            + [f"/cms/attention/{name}/" for name in ("today", "alt-texts", "pictures")]
        ),
    ),
    "cms_deals": (
        EDITOR,
        lambda _: [
            "/cms/deals/",
            "/cms/deals/?state=draft",
            "/cms/deals/?brand=nobody",
            "/cms/deals/?q=deal",
            "/cms/deals/?columns=picture,brand,category,price,was_price,discount,state,live,expires,voucher,id",
        ],
    ),
    "cms_views": cms("deals/views/"),
    "cms_deal_terms": cms_deal("live", "terms/"),
    "cms_draft_terms": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/terms/"]),
    "cms_palette": cms("go/?q=keyboard"),
    "cms_help": cms("help/"),
    "cms_settings": cms("settings/"),
    "cms_find_deal": cms("deals/find/?q=nothing"),
    "cms_new_draft": cms("deals/new/"),
    "cms_deal": cms_deal("live"),
    "cms_reschedule_deal": cms_deal("scheduled", "reschedule/"),
    "cms_shared": (
        EDITOR,
        lambda content: [
            f"/cms/shared/{token_of('draft', content.draft.id, timezone.now())}/",
            f"/cms/shared/{token_of('deal', content.id('scheduled'), timezone.now())}/",
            f"/cms/shared/{token_of('draft', content.draft.id, timezone.now() - 8 * DAY)}/",
            "/cms/shared/x/",
        ],
    ),
    "cms_draft": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/"]),
    "cms_trash": cms("trash/"),
    "cms_brands": cms("brands/"),
    "cms_new_brand": cms("brands/new/"),
    "cms_brand": cms("brands/nordlicht/"),
    "cms_categories": cms("categories/"),
    "cms_category": cms("categories/peripherals-networking/"),
    "cms_featured": cms("featured/"),
    "cms_featured_page": cms("featured/front/"),
    "cms_featured_history": cms("featured/front/history/"),
    "cms_preview_featured": (
        EDITOR,
        lambda _: [f"/cms/featured/front/preview/?plan={plan.id}" for plan in featured_plans.newest()],
    ),
    "cms_messages": cms("messages/"),
    "cms_new_message": (
        EDITOR,
        lambda content: ["/cms/messages/new/", f"/cms/messages/new/?deal={content.id('live')}"],
    ),
    "cms_imports": cms("imports/"),
    "cms_paste_rows": cms("imports/paste/"),
    "cms_import": (EDITOR, lambda content: [f"/cms/imports/{one}/" for one in content.imports]),
    "cms_mend_import": (EDITOR, lambda content: [f"/cms/imports/{content.imports[1]}/mend/"]),
    "cms_bulk": (
        EDITOR,
        lambda content: [
            f"/cms/deals/bulk/?{one}"
            for one in (
                "all=1&action=expiry",
                "all=1&action=expiry&to_expiry=2020-01-01T09:00",
                "all=1&action=category&to_category=toys-hobbies",
                "all=1&state=draft&action=publish",
                f"deal={content.id('live')}&action=",
            )
        ],
    ),
    "cms_bulk_job": (EDITOR, lambda content: [f"/cms/deals/bulk/{one}/" for one in content.bulk]),
    "cms_jobs": cms("jobs/"),
    "cms_numbers": cms("numbers/"),
    "cms_ask": (ADMIN, lambda _: ["/cms/ask/", "/cms/ask/?ready=price-history-of-a-deal"]),
    "cms_answer": (ADMIN, lambda content: [f"/cms/ask/answers/{run_id}/" for run_id in content.answers]),
    "cms_saved_question": (ADMIN, lambda content: [f"/cms/ask/questions/{content.question}/"]),
    "cms_delete_question": (ADMIN, lambda content: [f"/cms/ask/questions/{content.question}/delete/"]),
    "cms_orders": office("orders/", "orders/?list=shipped"),
    "cms_find_order": office("orders/find/?q=nothing"),
    "cms_shopper_orders": office(f"orders/of/{SHOPPER}/", "orders/of/nobody/"),
    "cms_order": (ADMIN, lambda content: [f"/cms/orders/{SHOPPER}/{content.order}/"]),
    "cms_ship_orders": office_order("orders/ship/"),
    "cms_deliver_orders": office_order("orders/deliver/"),
    "cms_cancel_orders": office_order("orders/cancel/"),
    "cms_packing_slips": office_order("orders/slips/"),
    "cms_holders": (
        ADMIN,
        lambda content: [
            f"/cms/deals/{content.id('live')}/holders/",
            f"/cms/deals/{content.id('live')}/holders/?list=bought&day=x",
        ],
    ),
    "cms_payments": office(
        "payments/", "payments/?list=processed", "payments/?list=scheduled&first=2026-11-21&last=x"
    ),
    "cms_overdue_payments": office("payments/overdue/"),
    "cms_find_payment": office("payments/find/?q=nothing"),
    "cms_account_payments": office(f"payments/account/?account={SHOPPER}", "payments/account/?account=x"),
    "cms_payment": office_payment(""),
    "cms_retry_payment": office_payment("retry/"),
    "cms_cancel_payment": office_payment("cancel/"),
    "cms_refund_payment": office_payment("refund/"),
    "cms_export_payments": office("payments/export/"),
    "cms_export_orders": office("orders/export/"),
    "cms_exports": office("exports/", "exports/?list=editors", "exports/?list=admins"),
    "cms_deal_history": cms_deal("live", "history/"),
    "cms_compare_deal": cms_deal("live", "history/compare/?a=1&b=2"),
    "cms_visibility": (
        EDITOR,
        lambda content: [
            f"/cms/deals/{content.id(name)}/visibility/" for name in ("live", "expired", "scheduled")
        ],
    ),
    "cms_draft_visibility": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/visibility/"]),
    "cms_draft_history": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/history/"]),
    "cms_compare_draft": (
        EDITOR,
        lambda content: [f"/cms/drafts/{content.draft.id}/history/compare/?a=1&b=1"],
    ),
    "cms_audit": (
        ADMIN,
        lambda content: [
            "/cms/audit/",
            "/cms/audit/?by=eve",
            f"/cms/audit/?kind=deal&subject={content.id('live')}",
            "/cms/audit/?kind=deal",
            "/cms/audit/?day=2020-01-01",
        ],
    ),
    "cms_users": (ADMIN, lambda _: ["/cms/users/", "/cms/users/?find=nobody"]),
    "cms_user": (ADMIN, lambda _: ["/cms/users/ada/"]),
}
