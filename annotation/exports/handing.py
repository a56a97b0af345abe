"""Hands a file that a job made to a browser or a script."""

from typing import Any

from django.http import FileResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase

from annotation.errors import NotFound
from annotation.exports.writers import CONTENT_TYPES
from annotation.models import Export

OTHER_TYPES = {"json": "application/json", "zip": "application/zip"}


def handed_out(export: Export) -> HttpResponseBase:
    """The file of an export that is done, or the way to it where the storage signs its addresses (as S3 does).

    Raises NotFound where the storage has it no more.
    """
    storage: Any = export.file.storage
    if getattr(storage, "querystring_auth", False):
        disposition = f'attachment; filename="{export.name}"'
        return HttpResponseRedirect(
            storage.url(export.file.name, parameters={"ResponseContentDisposition": disposition})
        )
    try:
        file = export.file.open("rb")
    except FileNotFoundError:
        raise NotFound(f"The file of export {export.number} is gone from the storage; make it again.") from None
    kind = {**CONTENT_TYPES, **OTHER_TYPES}.get(export.format, "application/octet-stream")
    answer = FileResponse(file, as_attachment=True, filename=export.name, content_type=kind)
    answer["ETag"] = f'"{export.sha256}"'
    return answer
