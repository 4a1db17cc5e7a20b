"""The inbox: messages to a user, read one by one or all at once."""

from contextlib import suppress

from django.contrib import messages as notes
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import SiteRequest, UserRequest, destination
from dealsite.data.jobs import site_switch
from dealsite.data.people import messages
from dealsite.data.table.errors import BadCursor, DataError
from dealsite.data.table.ids import is_ulid, last_ulid_until
from dealsite.web.pages import action, page, part

MOST_AT_ONCE = 100  # more are marked read by the worker


@page("1 query", at=("", "?show=unread"))
@signed_in
@require_safe
def inbox(request: UserRequest) -> HttpResponse:
    """Show a page of the user's messages, or with `show=unread` of those that they have not read. 1 query."""
    unread = request.GET.get("show") == "unread"
    page = messages.inbox(
        request.user.username, unread=unread, after=request.GET.get("after"), before=request.GET.get("before")
    )
    chosen = {"show": "unread"} if unread else {}
    until = (last_ulid_until(timezone.now()), *(message.id for message in page.messages))
    context = {
        "page": page,
        "unread": unread,
        "until": max(until),  # by this site's clock, or that of the machine that sent it
        "before": page.before and f"?{urlencode(chosen | {'before': page.before})}",
        "after": page.after and f"?{urlencode(chosen | {'after': page.after})}",
    }
    return render(request, "shopping/my/inbox.html", context)


@page("1 get")
@signed_in
@require_safe
def open_message(request: UserRequest, message_id: str) -> HttpResponse:
    """Show a message, which is read with that. 1 get, and 1 update the first time."""
    message = messages.get(request.user.username, message_id)
    looked_ahead = "prefetch" in request.headers.get("Sec-Purpose", "")
    is_open = site_switch.of_process.current().is_open
    if message.unread and request.method == "GET" and not looked_ahead and is_open:
        messages.mark_read(request.user.username, message_id, now=timezone.now())
    return render(request, "shopping/my/message.html", {"message": message})


@action
@signed_in
@require_POST
def mark_read(request: UserRequest, message_id: str) -> HttpResponse:
    """Mark a message read without opening it. 1 update."""
    messages.mark_read(request.user.username, message_id, now=timezone.now())
    return HttpResponseRedirect(destination(request, reverse("inbox")))


@action
@signed_in
@require_POST
def mark_all_read(request: UserRequest) -> HttpResponse:
    """Mark all messages read that were there when the page was made: up to 100 at once, more by a job."""
    username, until = request.user.username, request.POST.get("until", "")
    if not is_ulid(until):
        raise BadCursor()
    if messages.count_unread(username) < MOST_AT_ONCE:
        messages.mark_all_read(username, until=until, limit=MOST_AT_ONCE, now=timezone.now())
        notes.success(request, _("All your messages are marked read."))
    else:
        messages.mark_all_read_later(username, until=until, now=timezone.now())
        notes.success(request, _("Your messages are being marked read. There are many: it takes a moment."))
    return HttpResponseRedirect(reverse("inbox"))


@action
@signed_in
@require_POST
def delete_message(request: UserRequest, message_id: str) -> HttpResponse:
    """Delete a message. 1 delete."""
    messages.delete(request.user.username, message_id)
    notes.success(request, _("The message is deleted."))
    return HttpResponseRedirect(destination(request, reverse("inbox")))


@part("none or 1 query")
@require_safe
def unread_badge(request: SiteRequest) -> HttpResponse:
    """Show how many messages are unread, on any page. 1 query.

    Each page asks for it in the background: whatever is wrong, the page does not need to hear of it.
    """
    response = HttpResponse(status=204)
    with suppress(DataError):
        if request.user.is_authenticated:
            count = messages.count_unread(request.user.username)
            response = render(request, "shopping/my/_unread_badge.html", {"count": count})
    patch_cache_control(response, private=True, no_store=True)
    return response
