"""The back office's questions to a snapshot of the table: a SELECT, its answer, questions ready and saved."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import query
from cms.shared.fields import CleanTextField
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import back_office
from dealsite.accounts.security_log import note
from dealsite.ask import charts, runs
from dealsite.ask.lake import Lake, may_ask, open_lake
from dealsite.ask.runs import Run
from dealsite.data.editing import questions
from dealsite.data.editing.questions import SavedQuestion
from dealsite.data.entities.work import LONGEST_SQL, LONGEST_TITLE
from dealsite.data.jobs import command_runs, jobs
from dealsite.data.table.errors import DataError, Invalid, NotFound, TooManyRequests, VersionConflict
from dealsite.data.table.ids import is_ulid, new_id, new_ulid, time_of
from dealsite.text.writing import number_in
from dealsite.web.pages import open_while

SHOWN = 100  # rows on a page
LONGEST_ROW = 10_000  # characters of a row's cells on a page,
LONGEST_CELL = 500  # and of one
PATIENCE = 1.5  # seconds in which most answers are there; of a longer one the page shows how far it is
EXAMPLE = "SELECT status, count(*) AS orders, sum(total) AS total\nFROM orders\nGROUP BY status\nORDER BY orders DESC"


class QuestionForm(forms.Form):
    """A question, and what it is called where it is saved."""

    sql = CleanTextField(
        label=gettext_lazy("Question"),
        help_text=gettext_lazy("One SELECT over the tables, as DuckDB writes it. Times are UTC."),
        max_length=LONGEST_SQL,
        strip=False,
        error_messages={"required": gettext_lazy("Write a question: one SELECT.")},
        widget=forms.Textarea(
            {"rows": 10, "spellcheck": "false", "autocapitalize": "off", "class": "font-mono text-sm"}
        ),
    )
    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=LONGEST_TITLE,
        error_messages={"required": gettext_lazy("Give it a title.")},
    )
    question_id = forms.CharField(required=False, widget=forms.HiddenInput)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def is_question(self, *, titled: bool = True) -> bool:
        """Tell whether there is something to ask, and what it is called unless that does not matter."""
        self.fields["title"].required = titled
        if self.is_valid() and not self.cleaned_data["sql"].strip():
            self.add_error("sql", _("Write a question: one SELECT."))
        self.fields["title"].required = True  # as the page says of saving it
        return self.is_valid()


@dataclass(frozen=True)
class AnswerView:
    """A page of an answer's rows, as cells with the look of their column."""

    columns: list[runs.Column]
    rows: list[list[tuple[Any, bool]]]
    first: int
    last: int
    total: int
    more: bool
    milliseconds: int


@back_office.form(
    "1 query or 1 get + 1 query", at=("", "?ready=price-history-of-a-deal", "?waits={snapshot_job}")
)
@vary_on_headers("HX-Request")
def ask(request: EditorRequest) -> HttpResponse:
    """The editor of questions; a question that is sent is asked, and leads to its answer.

    For htmx, while one waits for a newer snapshot, what there is to say of that.
    """
    if request.htmx:
        shown = _snapshot(request, open_lake(request.user.roles))
        return render(request, "cms/ask/_snapshot.html", shown)
    if request.method != "POST":
        return _page(request, _form(*_form_from_address(request)))
    form = QuestionForm(request.POST)
    lake = open_lake(request.user.roles)
    if lake is None or not form.is_question(titled=False):
        return _page(request, form, status=422)
    sql, now, username = form.cleaned_data["sql"], timezone.now(), request.user.username
    run_id = new_ulid(now)

    def on_start() -> None:
        questions.note_asked(run_id, sql, by=username, now=now)
        note(request, "question_asked", username=username, detail=run_id)

    try:
        limits.count_use(request, "question", now=now)
        title = form.cleaned_data["title"]
        run = runs.start(
            sql, run_id=run_id, by=username, lake=lake, title=title, patience=PATIENCE, on_start=on_start
        )
    except TooManyRequests as error:
        form.add_error(None, str(error))
        response = _page(request, form, status=error.status)
        response["Retry-After"] = str(error.retry_after)
        return response
    return HttpResponseRedirect(reverse("cms_answer", args=[run.id]) + "#answer-title")


def _form_from_address(request: EditorRequest) -> tuple[str, str]:
    """Return title and SQL of the question that the address names."""
    found = _ready(request).get(request.GET.get("ready", ""))
    return (_(found.title), found.sql) if found else ("", EXAMPLE)


def _ready(request: EditorRequest) -> dict[str, runs.ReadyQuestion]:
    """Return the ready questions that somebody's roles can ask."""
    found = runs.ready_questions()
    return {slug: one for slug, one in found.items() if may_ask(one.sql, request.user.roles)}


@back_office.page("1 query", at=tuple(f"/cms/ask/answers/{{answers[{number}]}}/" for number in range(5)))
@vary_on_headers("HX-Request")
def answer(request: EditorRequest, run_id: str) -> HttpResponse:
    """The answer of a question, or how far it is; as a part while one waits for it."""
    run = runs.look(run_id, by=request.user.username, roles=request.user.roles)
    shown = _run_context(request, run)
    if request.htmx:
        return render(request, "cms/ask/_answer.html", shown)
    return _page(request, _form(run.title, run.sql), **shown)


def _run_context(request: EditorRequest, run: Run) -> dict[str, Any]:
    """Return what the page shows of a run."""
    if run.state != "answered":
        return {"run": run}
    limits.count_use(request, "answer", now=timezone.now())
    whole = run.answer()
    asked = number_in(request.GET.get("page", ""), most=5)
    page = 1 if asked is None else asked
    first = (page - 1) * SHOWN
    if page < 1 or (first and first >= len(whole.rows)):
        raise NotFound(_("The answer has no such page."))
    part = whole.rows[first : first + SHOWN]
    numbers = [column.is_number for column in whole.columns]
    most = min(LONGEST_CELL, LONGEST_ROW // len(whole.columns))
    shown = AnswerView(
        whole.columns,
        [
            [(_short(value, most), is_number) for value, is_number in zip(row, numbers, strict=True)]
            for row in part
        ],
        first + 1 if part else 0,
        first + len(part),
        len(whole.rows),
        whole.more,
        whole.milliseconds,
    )
    return {
        "run": run,
        "shown": shown,
        "chart": charts.chart_of(whole) if page == 1 else None,
        "before": query({"page": str(page - 1)}) if page > 1 else "",
        "after": query({"page": str(page + 1)}) if first + SHOWN < len(whole.rows) else "",
    }


def _short(value: Any, most: int) -> Any:
    """Return a cell's value as a page shows it: of a long text the beginning; the CSV has the rest."""
    return f"{value[:most]} …" if isinstance(value, str) and len(value) > most else value


@back_office.part("none")
def answer_csv(request: EditorRequest, run_id: str) -> StreamingHttpResponse:
    """An answer as a file for spreadsheets."""
    run = runs.look(run_id, by=request.user.username, roles=request.user.roles)
    limits.count_use(request, "answer", now=timezone.now())
    whole = run.answer()
    note(request, "export_asked", username=request.user.username, detail=run_id)
    response = StreamingHttpResponse(runs.as_csv(whole), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="answer-{run_id}.csv"'
    return response


@back_office.action
def new_snapshot(request: EditorRequest) -> HttpResponse:
    """Have a worker make a snapshot of now; the page says when it is there."""
    if not settings.DEALSITE_NIGHTLY_SNAPSHOT:
        raise NotFound()
    now = timezone.now()
    limits.count_use(request, "snapshot", now=now)
    job_id = command_runs.plan(command_runs.SNAPSHOT, due=now.replace(microsecond=0))
    return redirect(f"{reverse('cms_ask')}?{urlencode({'waits': job_id})}")


def _snapshot(request: EditorRequest, lake: Lake | None) -> dict[str, Any]:
    """Return what the page says of the snapshot, and of the one that its address waits for. 1 get if it does."""
    waits, failed = request.GET.get("waits", ""), ""
    if not is_ulid(waits) or (lake and lake.at >= time_of(waits)):
        waits = ""
    else:
        job = jobs.get(waits)
        if job.kind != command_runs.SNAPSHOT:
            raise NotFound()
        failed = job.error if job.is_put_off or job.state in ("failed", "cancelled") else ""
    return {
        "as_of": lake.at if lake else None,
        "waits": "" if failed else waits,
        "failed": failed,
        "can_renew": settings.DEALSITE_NIGHTLY_SNAPSHOT,
    }


@back_office.action
@open_while("read-only")
def cancel_answer(request: EditorRequest, run_id: str) -> HttpResponse:
    """End a question that is being answered."""
    run = runs.cancel(run_id, by=request.user.username, roles=request.user.roles)
    return redirect("cms_answer", run.id)


@back_office.action
def save_question(request: EditorRequest) -> HttpResponse:
    """Save what stands in the editor, under the title given."""
    form = QuestionForm(request.POST)
    if not form.is_question():
        return _page(request, form, status=422)
    now = timezone.now()
    try:
        question = questions.create(
            question_id=new_id(form.cleaned_data["question_id"], now),
            title=form.cleaned_data["title"],
            sql=_plain(form.cleaned_data["sql"]),
            by=request.user.username,
            now=now,
        )
    except Invalid as error:
        return _refused(request, form, error)
    messages.success(request, _("The question is saved."))
    return redirect("cms_saved_question", question.id)


@back_office.form("1 get + 1 query")
def saved_question(request: EditorRequest, question_id: str) -> HttpResponse:
    """A saved question, to ask or to change."""
    stored = questions.get(question_id)
    if request.method != "POST":
        return _page(request, _form(stored.title, stored.sql, stored), question=stored)
    form = QuestionForm(request.POST)
    if not form.is_question():
        return _page(request, form, question=stored, status=422)
    try:
        if form.cleaned_data["version"] != stored.version:
            raise VersionConflict(current=stored)
        questions.edit(
            stored,
            title=form.cleaned_data["title"],
            sql=_plain(form.cleaned_data["sql"]),
            by=request.user.username,
            now=timezone.now(),
        )
    except VersionConflict as conflict:
        current = conflict.current or questions.get(question_id)
        return _page(request, form, question=current, theirs=current, status=conflict.status)
    except Invalid as error:
        return _refused(request, form, error, question=stored)
    messages.success(request, _("The question is saved."))
    return redirect("cms_saved_question", question_id)


@back_office.form("1 get")
def delete_question(request: EditorRequest, question_id: str) -> HttpResponse:
    """Delete a saved question, once that is confirmed."""
    stored = questions.get(question_id)
    if request.method != "POST":
        return render(request, "cms/ask/delete_question.html", {"question": stored})
    if request.POST.get("version") != str(stored.version):
        raise VersionConflict(current=stored)
    questions.delete(stored, by=request.user.username, now=timezone.now())
    messages.success(request, _("The question is deleted."))
    return HttpResponseRedirect(reverse("cms_ask"))


def _plain(sql: str) -> str:
    return sql.replace("\r\n", "\n")


def _form(title: str, sql: str, stored: SavedQuestion | None = None) -> QuestionForm:
    version = stored.version if stored else None
    # The id is minted with the form: a second click finds what the first has saved.
    question_id = stored.id if stored else new_ulid(timezone.now())
    return QuestionForm(initial={"title": title, "sql": sql, "question_id": question_id, "version": version})


def _refused(request: EditorRequest, form: QuestionForm, error: DataError, **more: Any) -> HttpResponse:
    for name, why in getattr(error, "fields", {}).items():
        form.add_error(name, why)
    return _page(request, form, status=422, **more)


def _page(request: EditorRequest, form: QuestionForm, *, status: int = 200, **more: Any) -> HttpResponse:
    lake: Lake | None = open_lake(request.user.roles)
    page = {
        "form": form,
        "tables": lake.tables if lake else [],
        "ready": _ready(request).values(),
        "saved": questions.newest(),
        **_snapshot(request, lake),
        **more,
    }
    return render(request, "cms/ask/ask.html", page, status=status)
