"""The key chart: every key of the table on one page, for reads and writes alike.

A key's function returns (PK, SK), an index's the attributes that put an item into a list, which is labelled with the
question that it answers. `keys.deals_of_day.partition(day)` is where to ask, `keys.days.between()` a range of
sort keys there. table/key_templates.py says how to write a line; docs/access-patterns.md shows all.

    GSI1  by day, month or id        GSI2  by brand or user        GSI3  by category or open work
"""

from dealsite.data.table.configuration import Index
from dealsite.data.table.key_templates import (
    TOP as TOP,
    Key as Key,
    Row as Row,
    chart,
    index,
    key,
    part as part,
    prefix as prefix,
    rows,
)

GSI1, GSI2, GSI3, USER_INDEX = "GSI1", "GSI2", "GSI3", "UserIndex"
LISTED = ("type", "card")  # what a list shows of an entity; the rest of an item costs no index writes
INDEXES = {
    **{name: Index(f"{name}PK", f"{name}SK", LISTED) for name in (GSI1, GSI2, GSI3)},
    USER_INDEX: Index(USER_INDEX),
}
USER_COUNT_SHARDS, ORDER_SHARDS, PAYMENT_SHARDS = 4, 4, 10

# Deals and drafts
deal = key("DEAL#{deal:ulid}", "DEAL#{deal}")
offer = key("DEAL#{deal:ulid}", "OFFER", "price, stock and expiry of a deal")
deal_counts = key("DEAL#{deal:ulid}", "COUNTS", "how many like a deal")
price = key("PRICES#{deal:ulid}", "{since:time}#{entry:ulid}", "a price that a deal has had")
activity = key("CLICKS#{deal:ulid}", "{day}", "how many clicked, ordered and liked a deal on a day")
draft = key("DRAFT#{draft:ulid}", "DRAFT#{draft}")
presence = key("{kind:deal|draft}#{target:ulid}", "PRESENCE#{username}", "who has its form open")
version = key("VERSIONS#{history:ulid}", "{number:08d}", "what a deal or draft was before a change")
changes = key("VERSIONS#{history:ulid}", "CHANGES", "what a deal is to become and shoppers do not see yet")
deal_by = key(
    "DEALBY#{hash of name}", "{target:ulid}", "deals and drafts that have had a link or article number"
)
trash = key("{kind:deal|draft}#{target:ulid}", "TRASH", "what was deleted stands where it stood")

BY_DEAL, BY_END, BY_DRAFT = "DEAL#{deal:ulid}", "{end:time?}#{deal:ulid}", "DRAFT#{draft:ulid}"
deals_of_day = index(GSI1, "DEALS#{day of deal}", BY_DEAL, "deals published on a day")
deals_of_brand = index(GSI2, "BRAND#{brand:slug}#{year of deal}", BY_DEAL, "deals of a brand")
deals_of_category = index(GSI3, "CATEGORY#{category:slug}#{month of deal}", BY_DEAL, "those of a category")
feed_rows = rows("deal, brand, category", deals_of_day, deals_of_brand, deals_of_category)

expiring = index(GSI1, "EXPIRES#{month of end}", BY_END, "offers that end in a month")
expiring_of_brand = index(
    GSI2, "EXPIRES#BRAND#{brand:slug}#{month of end}", BY_END, "offers of a brand that end in a month"
)
expiring_of_category = index(GSI3, "EXPIRES#CATEGORY#{category:slug}#{month of end}", BY_END, "of a category")
expiry_rows = rows("deal, brand, category, end", expiring, expiring_of_brand, expiring_of_category)

active = index(GSI1, "CLICKED#{day}", BY_DEAL, "deals with clicks, orders or likes on a day")

drafts = index(GSI1, "DRAFTS", BY_DRAFT, "all drafts")
drafts_of_brand = index(GSI2, "DRAFTS#BRAND#{brand:slug?}", BY_DRAFT, "drafts of a brand")
drafts_of_category = index(GSI3, "DRAFTS#CATEGORY#{category:slug?}", BY_DRAFT, "of a category")
draft_rows = rows("draft, brand, category", drafts, drafts_of_brand, drafts_of_category)

changed_deals = index(GSI1, "DEALCHANGES", "{at:time}#{history:ulid}", "deals with unpublished changes")
trashed = index(GSI1, "TRASH", "{at:time}#{kind:word}#{target:ulid}", "what lies in the trash")

# Brands, categories and pages
brand = key("BRAND#{slug}", "BRAND#{slug}")
brand_counts = key("BRAND#{slug}", "COUNTS", "how many deals, likes and watches a brand has")
brand_name = key("BRANDS", "NAME#{name:slug}", "a brand by one of its names; all of them from A to Z")
category = key("CATEGORY#{slug}", "CATEGORY#{slug}", "its texts and featured deals")
category_counts = key("CATEGORY#{slug}", "COUNTS", "how many deals, likes and watches a category has")
front_page = key("FRONTPAGE", "FRONTPAGE", "its featured deals")
editors_choice_page = key("EDITORSCHOICEPAGE", "EDITORSCHOICEPAGE", "its featured deals")
featured_version = key("FEATURED#{page:slug}", "VERSION#{version:09d}", "an earlier featured list of a page")
featured_plan = key("FEATUREDPLANS", "PLAN#{plan:ulid}", "a featured list that is planned for a time")
years = key("FRONTPAGE", "YEARS", "the years that have a list of days")
days = key("FRONTPAGE", "DAYS#{year}", "the days of a year that hold deals")
hot_deals = key("FRONTPAGE", "HOT", "the hot deals, in order")
day_count = key("FRONTPAGE", "DAY#{day}", "the number of deals of a day")

# Likes and watches
brand_like = key("BRANDLIKE#{slug}#{username}", "BRANDLIKE#{slug}#{username}")
category_like = key("CATEGORYLIKE#{slug}#{username}", "CATEGORYLIKE#{slug}#{username}")
deal_like = key("DEALLIKE#{slug:ulid}", "USER#{username}", "of a deal, whose id is its slug here")
brand_watch = key("BRANDWATCH#{slug}", "USER#{username}")
category_watch = key("CATEGORYWATCH#{slug}", "USER#{username}")
relations_of_user = index(
    GSI2,
    "USER#{username}",
    "{verb:LIKE|WATCH}#{target:BRAND|CATEGORY|DEAL}#{slug}",
    "what a user likes and watches",
)

# Users
user = key("USER#{username}", "USER#{username}")
profile = key("USER#{username}", "PROFILE#{username}")
two_factor = key("USER#{username}", "TWOFACTOR#{username}", "what checks the second factor at sign-in")
factor_owner = key("TWOFACTOR#{factor:ulid}", "TWOFACTOR#{factor}", "whose the passkeys of a factor are")
used_challenge = key("CHALLENGE#{hash of challenge}", "USED", "what a passkey has signed, good once")
email_guard = key("USEREMAIL#{folded of email}", "USEREMAIL#{folded of email}", "whose an e-mail address is")
user_count = key("USERCOUNT#{shard/4 of username}", "USERCOUNT#{shard/4 of username}")
session = key("SESSIONS#{username}", "SESSION#{hash of session_key}")
throttle = key("THROTTLE#{kind:word}#{hash of subject}", "{window:seconds}", "tries of an address or user")
message = key("MESSAGES#{username}", "MESSAGE#{message:ulid}")

all_users = index(USER_INDEX, "USER#{username}", "", "all users", muted=False)
waiting_users = index(GSI1, "PENDINGEMAIL#{folded of email}", "{created_at:time}#{username}", "who waits")
muted_users = index(USER_INDEX, "MUTED#{username}", "", "users who want no hot deals", muted=True)
MUTED = "MUTED#"
user_index = rows("username, *, muted=False", all_users, muted_users)
unread_messages = index(GSI1, "MESSAGES#{username}", "MESSAGE#{message:ulid}", "a user's unread messages")

# Jobs, imports and bulk changes
job = key("JOB#{job:ulid}", "JOB#{job}")
deal_import = key("IMPORT#{import_id:ulid}", "IMPORT#{import_id}", "a file of deals that an editor uploaded")
import_layout = key("IMPORTLAYOUT#{hash}", "IMPORTLAYOUT#{hash}", "how files with that first line are read")
bulk_chunk = key("BULK#{job:ulid}", "CHUNK#{number:06d}", "some of the deals that a job is to change")
bulk_row = key("BULK#{job:ulid}", "{outcome:word}#{deal:ulid}", "what became of one: CHANGED or REFUSED")

jobs_of_month = index(GSI1, "JOBS#{month of job}", "JOB#{job:ulid}", "jobs of a month")
open_jobs = index(GSI3, "JOBS#OPEN#{place:word}", "{due:time?}#{job:ulid}", "which jobs are due")
job_rows = rows("job, due, place", jobs_of_month, open_jobs)
announcements = index(GSI2, "ANNOUNCEMENTS", "JOB#{job:ulid}", "jobs that send messages")
imports = index(GSI2, "IMPORTS", "IMPORT#{import_id:ulid}", "all imports")

# Saved questions and views
question = key("QUESTIONS", "QUESTION#{question:ulid}")
list_views = key("LISTVIEWS#{username}", "VIEWS", "a user's views of lists")

# Carts
cart_head = key("CART#{username}", "HEAD", "what is in a user's cart")
cart_line = key("CART#{username}", "{status:word}#{at:time}#{line:ulid}", "a line in it, or bought from it")
visitor_cart_head = key("CARTANON#{visitor:hash}", "HEAD")
visitor_cart_line = key("CARTANON#{visitor:hash}", "{status:word}#{at:time}#{line:ulid}")
carts_with = index(
    GSI2, "SKU#{deal:ulid}", "{status:word}#{at:time}#{username?}#{line:ulid}", "users with a deal"
)

# Orders
order = key("USER#{username}", "ORDER#{order:ulid}")
order_head = index(GSI1, "ORDER#{order:ulid}", "ORDER#{order}", "an order of whom it may be")
order_lines = index(GSI1, "ORDER#{order:ulid}", "ITEM#{line:ulid}", "the lines of an order")
orders_of_user = index(GSI2, "USER#{username}", "{status:word}#{order:ulid}", "a user's orders of a status")
BY_PLACING = "{placed_at:time}#{order:ulid}"
orders_to_ship = index(GSI3, "OPENORDERS#{shard/4 of order}", BY_PLACING, "to be shipped", status="PLACED")
orders_to_arrive = index(
    GSI3, "SHIPPEDORDERS#{shard/4 of order}", BY_PLACING, "on their way", status="SHIPPED"
)
order_rows = rows(
    "order, username, status, placed_at", order_head, orders_of_user, orders_to_ship, orders_to_arrive
)
return_request = key("USER#{username}", "RETURN#{order:ulid}", "that some of an order is to be returned")
returns_asked = index(GSI3, "RETURNS", "{at:time}#{order:ulid}", "returns that shoppers asked for")
WAITING = {"PLACED": orders_to_ship, "SHIPPED": orders_to_arrive}

# Payments
HISTORY = "PAYHIST#"  # partitions of payments of closed days
payment = key("PAYMENTS#{account:username}", "{due_at:time}#{payment:ulid}")
past_payment = key("PAYHIST#{account:username}", "{due_at:time}#{payment:ulid}", "a payment of a closed day")
transaction = key("TXN#{transaction:text}", "TXN#{transaction}", "makes a transaction id one payment's own")
payment_totals = key("PAYTOTALS#{day}#{shard}", "PAYTOTALS", "what the payments due on a day come to")
payment_load = key("LOAD#{load:ulid}", "LOAD#{load}", "a load of payments from a file")
payment_load_segment = key("LOAD#{load:ulid}", "SEGMENT#{number}", "how far one part of a load has come")
test_charge = key("TESTCHARGE#{charge:text}", "TESTCHARGE#{charge}", "what the test gateway did")

payments_by_status = index(
    GSI3, "PAYMENTS#{shard/10 of payment}", "{status:word}#{at:time}#{payment:ulid}", "payments to be charged"
)
closed_payments = index(GSI3, "PAYHIST#{shard/10 of payment}", "{at:time}#{payment:ulid}", "of closed days")
payment_of_transaction = index(GSI1, "TXN#{transaction:text}", "TXN#{transaction}", "a transaction's payment")

# Audit
audit = key("AUDIT#{day of at}", "{at:time}#{entry:ulid}", "what somebody did to what")
audit_by = index(GSI1, "AUDIT#BY#{by:username}", "{at:time}#{entry:ulid}", "what somebody did")
audit_of = index(GSI2, "AUDIT#OF#{kind:word}#{subject:text}", "{at:time}#{entry:ulid}", "what was done to it")
audit_rows = rows("at, entry, *, by, kind, subject", audit_by, audit_of)

# The security log
security_event = key("SECURITY#{day of at}", "{at:time}#{entry:ulid}", "what happened at the site's doors")
security_of_user = index(GSI1, "SECURITY#OF#{username?}", "{at:time}#{entry:ulid}", "events of a user")
security_of_kind = index(GSI2, "SECURITY#EVENT#{event:word}", "{at:time}#{entry:ulid}", "events of a kind")
security_of_network = index(GSI3, "SECURITY#FROM#{network:text}", "{at:time}#{entry:ulid}", "of a network")
security_rows = rows(
    "at, entry, *, username, event, network", security_of_user, security_of_kind, security_of_network
)
failure_count = key("FAILURES", "{minute:time}", "how many tries failed in a minute, on all machines")

# Migrations
migration = key("MIGRATION#{name:word}", "MIGRATION#{name}", "how far a migration of all items has come")

# Who is alive
site_switch = key("SITESWITCH", "SITESWITCH", "whether the site is open, and what visitors are told")
site_page = key("SITEPAGES", "PAGE#{page:slug}", "the texts of a page such as the terms, once edited")
heartbeat = key(
    "HEARTBEAT#{part:worker|web|unknown}", "HEARTBEAT#{part}", "when one of its processes last wrote"
)
task_counts = key("TASKCOUNTS", "TASKCOUNTS", "how much there is to do in the CMS")
process = key("PROCESSES", "PROCESS#{process:ulid}", "how one of the site's processes is doing")
lease = key("LEASE#{name:slug}", "LEASE#{name}", "which process of all machines does something at a time")
command_run = key("COMMANDRUNS#{kind:word}", "RUN#{run:ulid}", "how a command or a night's work went")

TARGETS = {"deal": deal, "draft": draft}  # what can be open in a form, and go to the trash
CHART = chart(globals())
