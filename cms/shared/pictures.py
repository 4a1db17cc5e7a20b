"""Taking in a picture as soon as it is chosen, dropped or pasted, while its form is still being filled in."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from cms.shared.kept_pictures import NOUNS, PictureForm
from cms.shared.requests import EditorRequest, editor_action


class UploadForm(PictureForm):
    """A picture alone."""

    def __init__(self, request: EditorRequest) -> None:
        noun = request.GET.get("noun", "")
        self.picture_noun = noun if noun in NOUNS else "picture"
        super().__init__(None, request.FILES)


@editor_action
def upload_picture(request: EditorRequest) -> HttpResponse:
    """Store one picture; answers with what its form shows of it and keeps in a hidden field, or with its error."""
    form = UploadForm(request)
    if form.is_valid() and form.picture:
        return render(request, "cms/shared/_picture_now.html", {"form": form, "uploaded": True})
    response = render(
        request, "cms/shared/_picture_error.html", {"errors": form.errors.get("picture_file")}, status=422
    )
    response["HX-Retarget"] = "#picture-error"
    return response
