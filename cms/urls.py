"""Every address under /cms/."""

from django.urls import path, register_converter

from cms.ask import ask
from cms.bulk import bulk
from cms.deals import (
    autosave,
    buyers,
    deal,
    drafts,
    history,
    presence,
    preview,
    similar,
    trash,
)
from cms.featured import featured
from cms.home import home, numbers, overview, palette
from cms.imports import imports
from cms.jobs import exports, jobs
from cms.lists import (
    attention,
    deal_beside,
    deal_list,
    list_address,
    price_and_expiry,
    saved_views,
)
from cms.messages import messages
from cms.operations import operations, site_pages, switch_site
from cms.orders import order_actions, orders
from cms.payments import payment_actions, payments
from cms.people import audit, limits, security, users
from cms.shared import pictures
from cms.taxonomy import brand_merges, named_brands, taxonomy


class KindConverter:
    """The kind of an entry: `deals/` or `drafts/` in an address."""

    regex = "deals|drafts"

    def to_python(self, value: str) -> str:
        return value.removesuffix("s")

    def to_url(self, kind: str) -> str:
        return f"{kind}s"


register_converter(KindConverter, "kind")

urlpatterns = [
    path("", overview.overview, name="cms_home"),
    path("go/", palette.palette, name="cms_palette"),
    path("help/", home.show_help, name="cms_help"),
    path("settings/", home.user_settings, name="cms_settings"),
    path("settings/choose/", home.choose, name="cms_choose"),
    path("attention/<str:topic>/", attention.attention_list, name="cms_attention"),
    path("deals/", deal_list.deal_list, name="cms_deals"),
    path("deals/beside/", deal_beside.deal_beside, name="cms_deal_beside"),
    path("deals/find/", deal_list.find_deal, name="cms_find_deal"),
    path("deals/columns/", list_address.choose_columns, name="cms_choose_columns"),
    path("views/", saved_views.view_list, name="cms_views"),
    path("views/save/", saved_views.save_view, name="cms_save_view"),
    path("views/delete/", saved_views.delete_view, name="cms_delete_view"),
    path("deals/new/", drafts.new_draft, name="cms_new_draft"),
    path("deals/autosave/", autosave.autosave_setting, name="cms_autosave_setting"),
    path("deals/preview/", preview.preview_deal, name="cms_preview_deal"),
    path("markdown/", preview.pasted_markdown, name="cms_markdown"),
    path("deals/preview/frame/", preview.preview_frame, name="cms_preview_frame"),
    path("deals/bulk/", bulk.preview, name="cms_bulk"),
    path("deals/do/<str:action>/", bulk.do, name="cms_do"),
    path("deals/bulk/<str:job_id>/", bulk.bulk_job, name="cms_bulk_job"),
    path("deals/bulk/<str:job_id>/report/", bulk.report, name="cms_bulk_report"),
    path("deals/bulk/<str:job_id>/undo/", bulk.undo, name="cms_undo_bulk"),
    path("deals/<str:deal_id>/", deal.deal, name="cms_deal"),
    path("drafts/<str:draft_id>/", drafts.draft, name="cms_draft"),
    path("drafts/<str:draft_id>/similar/", similar.similar, name="cms_similar"),
    path("<kind:kind>/<str:entry_id>/autosave/", autosave.autosave, name="cms_autosave"),
    path("<kind:kind>/<str:entry_id>/history/", history.history, name="cms_history"),
    path("<kind:kind>/<str:entry_id>/history/compare/", history.compare, name="cms_compare"),
    path("<kind:kind>/<str:entry_id>/presence/", presence.heartbeat, name="cms_presence"),
    path("<kind:kind>/<str:entry_id>/presence/leave/", presence.leave, name="cms_leave"),
    path("<kind:kind>/<str:entry_id>/purge/", trash.purge, name="cms_purge"),
    path("<kind:kind>/<str:entry_id>/restore/", trash.restore, name="cms_restore"),
    path("<kind:kind>/<str:entry_id>/terms/", price_and_expiry.terms, name="cms_terms"),
    path("deals/<str:deal_id>/holders/", buyers.buyers, name="cms_buyers"),
    path("deals/<str:deal_id>/check-link/", attention.check_link, name="cms_check_link"),
    path("pictures/", pictures.upload_picture, name="cms_upload_picture"),
    path("trash/", trash.trash_list, name="cms_trash"),
    path("brands/", taxonomy.brand_list, name="cms_brands"),
    path("brands/new/", taxonomy.new_brand, name="cms_new_brand"),
    path("brands/names/", named_brands.brand_names, name="cms_brand_names"),
    path("brands/<str:slug>/", taxonomy.brand, name="cms_brand"),
    path("brands/<str:slug>/merge/", brand_merges.merge_brand, name="cms_merge_brand"),
    path("brands/<str:slug>/merge/start/", brand_merges.start_merge, name="cms_start_merge"),
    path("brands/<str:slug>/merge/undo/", brand_merges.undo_merge, name="cms_undo_merge"),
    path("categories/", taxonomy.category_list, name="cms_categories"),
    path("categories/<str:slug>/", taxonomy.category, name="cms_category"),
    path("featured/", featured.featured_page, name="cms_featured"),
    path("featured/plans/", featured.plan_list, name="cms_featured_plans"),
    path("featured/plans/<str:plan_id>/cancel/", featured.cancel_plan, name="cms_cancel_plan"),
    path("featured/<str:page_id>/", featured.featured_page, name="cms_featured_page"),
    path("featured/<str:page_id>/preview/", featured.preview_page, name="cms_preview_featured"),
    path("messages/", messages.message_list, name="cms_messages"),
    path("messages/new/", messages.new_message, name="cms_new_message"),
    path("imports/", imports.import_list, name="cms_imports"),
    path("imports/<str:import_id>/", imports.deal_import, name="cms_import"),
    path("imports/<str:import_id>/<str:part>/", imports.import_file, name="cms_import_file"),
    path("jobs/", jobs.job_list, name="cms_jobs"),
    path("jobs/export/", exports.export_list, name="cms_export_list"),
    path("jobs/<str:job_id>/file/", exports.download_export, name="cms_download_export"),
    path("jobs/<str:job_id>/pause/", jobs.pause_job, name="cms_pause_job"),
    path("jobs/<str:job_id>/resume/", jobs.resume_job, name="cms_resume_job"),
    path("jobs/<str:job_id>/cancel/", jobs.cancel_job, name="cms_cancel_job"),
    path("jobs/<str:job_id>/retry/", jobs.retry_job, name="cms_retry_job"),
    path("numbers/", numbers.numbers, name="cms_numbers"),
    path("ask/", ask.ask, name="cms_ask"),
    path("ask/answers/<str:run_id>/", ask.answer, name="cms_answer"),
    path("ask/answers/<str:run_id>/csv/", ask.answer_csv, name="cms_answer_csv"),
    path("ask/answers/<str:run_id>/cancel/", ask.cancel_answer, name="cms_cancel_answer"),
    path("ask/questions/", ask.save_question, name="cms_save_question"),
    path("ask/questions/<str:question_id>/", ask.saved_question, name="cms_saved_question"),
    path("ask/questions/<str:question_id>/delete/", ask.delete_question, name="cms_delete_question"),
    path("orders/", orders.order_list, name="cms_orders"),
    path("orders/news/", orders.order_news, name="cms_order_news"),
    path("orders/find/", orders.find_order, name="cms_find_order"),
    path("orders/ship/", order_actions.ship_orders, name="cms_ship_orders"),
    path("orders/deliver/", order_actions.deliver_orders, name="cms_deliver_orders"),
    path("orders/cancel/", order_actions.cancel_orders, name="cms_cancel_orders"),
    path("orders/slips/", orders.packing_slips, name="cms_packing_slips"),
    # No user can be called "of": a user name has three characters at least.
    path("orders/of/<str:username>/", orders.shopper_orders, name="cms_shopper_orders"),
    path("orders/<str:username>/<str:order_id>/", orders.order, name="cms_order"),
    path(
        "orders/<str:username>/<str:order_id>/mail/",
        order_actions.send_order_mail,
        name="cms_send_order_mail",
    ),
    path("payments/", payments.payment_list, name="cms_payments"),
    path("payments/overdue/", payments.overdue_payments, name="cms_overdue_payments"),
    path("payments/find/", payments.find_payment, name="cms_find_payment"),
    path("payments/account/", payments.account_payments, name="cms_account_payments"),
    path("payments/<str:payment_id>/", payment_actions.payment, name="cms_payment"),
    path("payments/<str:payment_id>/retry/", payment_actions.retry_payment, name="cms_retry_payment"),
    path("payments/<str:payment_id>/cancel/", payment_actions.cancel_payment, name="cms_cancel_payment"),
    path("payments/<str:payment_id>/refund/", payment_actions.refund_payment, name="cms_refund_payment"),
    path("audit/", audit.audit_entries, name="cms_audit"),
    path("security/", security.security_log, name="cms_security"),
    path("limits/", limits.limit_list, name="cms_limits"),
    path("operations/", operations.operations, name="cms_operations"),
    path("operations/switch/", switch_site.switch_site, name="cms_switch_site"),
    path("pages/", site_pages.site_pages, name="cms_site_pages"),
    path("pages/<str:slug>/", site_pages.site_page, name="cms_site_page"),
    path("users/", users.user_list, name="cms_users"),
    path("users/<str:username>/", users.user, name="cms_user"),
    path("users/<str:username>/give-role/", users.change_role, {"give": True}, name="cms_give_role"),
    path("users/<str:username>/take-role/", users.change_role, {"give": False}, name="cms_take_role"),
    path("users/<str:username>/reset-two-factor/", users.reset_two_factor, name="cms_reset_two_factor"),
    path("users/<str:username>/end-sessions/", users.end_sessions, name="cms_end_sessions"),
    path("users/<str:username>/suspend/", users.suspend_user, name="cms_suspend_user"),
    path("users/<str:username>/lift-suspension/", users.lift_suspension, name="cms_lift_suspension"),
]
