"""The page where editors change the texts and the picture of a brand or a category."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from cms.shared.forms import BrandForm, typed_texts
from cms.shared.requests import EditorRequest
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.categories import CATEGORIES, Kind, Stored
from dealsite.data.table.errors import Invalid, Unavailable, VersionConflict


class TextsData(Protocol[Stored]):
    """The module of brands, or of categories."""

    def get(self, slug: str) -> Stored: ...
    def get_with_counts(self, slug: str) -> Stored: ...
    def edit(
        self, entry: Stored, /, *, name: str, description: str, logo: Picture | None, by: str, now: datetime
    ) -> Stored: ...


@dataclass(frozen=True)
class TextsPage(Generic[Stored]):
    """The page of a brand, or a category; `done` is told of a change, and returns what to say about it."""

    kind: Kind
    form: type[BrandForm]
    data: TextsData[Stored]
    done: Callable[[Stored, Stored], str]

    def answer(self, request: EditorRequest, slug: str) -> HttpResponse:
        """Show the form, or change what it says."""
        if request.method != "POST":
            stored = self.data.get_with_counts(slug)
            return self.show(request, self.form.opened(typed_texts(stored), stored.version), slug, stored)
        form = self.form.posted(request.POST, request.FILES)
        known: Stored | None = None
        try:
            known = self.data.get_with_counts(slug)
            return self._change(request, form, known)
        except VersionConflict as conflict:
            current = conflict.current or self.data.get(slug)
            form.set_against(typed_texts(current), current.version)
            return self.show(request, form, slug, current, status=409)
        except Invalid as error:
            form.refuse(error.fields, str(error))
            return self.show(request, form, slug, known, status=422)
        except Unavailable as error:
            return self.show(request, form, slug, known, trouble=str(error), status=503)

    def _change(self, request: EditorRequest, form: BrandForm, stored: Stored) -> HttpResponse:
        if form.chooses:
            form.take(typed_texts(stored))
        if not form.is_valid():
            return self.show(request, form, stored.slug, stored, status=422)
        if form.differs_from(typed_texts(stored)):
            if form.version != stored.version:
                raise VersionConflict(current=stored)
            edited = self.data.edit(
                stored,
                name=form.cleaned_data["name"],
                description=form.cleaned_data["description"],
                logo=form.picture,
                by=request.user.username,
                now=timezone.now(),
            )
            messages.success(request, self.done(stored, edited))
        return redirect(f"cms_{self.kind}", stored.slug)

    def show(
        self,
        request: EditorRequest,
        form: BrandForm,
        slug: str = "",
        stored: Stored | None = None,
        *,
        status: int = 200,
        trouble: str = "",
    ) -> HttpResponse:
        """The form; without a slug, of a new brand."""
        page = {"kind": self.kind, "form": form, "entry": stored, "slug": slug, "trouble": trouble}
        page["name"] = CATEGORIES.get(slug, "")
        return render(request, f"cms/taxonomy/{self.kind}.html", page, status=status)
