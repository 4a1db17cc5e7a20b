"""What questions about the editors' list of deals cost: how each is prepared, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dealsite.data import saved_views
from dealsite.data.saved_views import SavedView
from tests.builders import EDITOR, NOW, make_id


def save_view(name: str = "Toys") -> SavedView:
    view = SavedView(make_id(), name)
    saved_views.save(EDITOR, view, by=EDITOR, now=NOW)
    return view


def two_views() -> SavedView:
    save_view("First")
    return save_view()


MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "saved_views.of": (save_view, lambda _: saved_views.of(EDITOR)),
    "saved_views.save": (save_view, lambda _: save_view("Other")),
    "saved_views.rename": (
        save_view,
        lambda view: saved_views.rename(EDITOR, view.id, "Other", by=EDITOR, now=NOW),
    ),
    "saved_views.move": (two_views, lambda view: saved_views.move(EDITOR, view.id, 0, by=EDITOR, now=NOW)),
    "saved_views.delete": (save_view, lambda view: saved_views.delete(EDITOR, view.id, by=EDITOR, now=NOW)),
    "saved_views.forget": (save_view, lambda _: saved_views.forget(EDITOR)),
}
