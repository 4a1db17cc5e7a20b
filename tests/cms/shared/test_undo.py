"""The way back from what was just done, which has to reach the next page."""

from __future__ import annotations

from random import Random

from django.contrib.messages.storage import default_storage
from django.http import HttpResponse

from cms.shared import requests
from dealsite.web.page_cache import MessageCookie


def test_a_long_note_does_not_cost_its_way_back(rf):
    random = Random(4)
    titles = ", ".join("".join(random.choices("abcdefghijklmnopqrstuvwxyzäöüß ", k=300)) for _ in range(24))
    request = rf.post("/")
    request._messages = default_storage(request)
    requests.offer_undo(request, f"Left out: {titles}", "/cms/featured/front/restore/", kept="3", version="4")
    response = HttpResponse()
    assert request._messages.update(response) == []
    assert len(response.cookies[MessageCookie.cookie_name].OutputString()) < 4_096
    request = rf.get("/")
    request.COOKIES[MessageCookie.cookie_name] = response.cookies[MessageCookie.cookie_name].value
    (message,) = default_storage(request)
    assert message.message.startswith("Left out: ")
    way_back = requests.undo_from_tags(message.extra_tags)
    assert way_back is not None
    assert way_back.fields == {"kept": "3", "version": "4"}


def test_a_note_of_a_build_before_has_its_way_back():
    tags = requests.TAG + '{"address": "/cms/", "label": "Undo", "fields": {}}'
    assert requests.undo_from_tags(tags) == requests.UndoAction("/cms/", {})
