"""Download of an exported file by a browser or script."""

from django.http import FileResponse

from annotation.core.errors import NotFound
from annotation.exports.columns import CONTENT_TYPES
from annotation.models import Export

OTHER_TYPES = {"json": "application/json", "zip": "application/zip"}


def file_response(export: Export) -> FileResponse:
    """The file of an export that is done. It comes from here, whatever the storage: who may have it was asked here.

    Raises NotFound where the storage has it no more, StorageAway where it does not answer.
    """
    try:
        file = export.file.open("rb")
    except FileNotFoundError:
        raise NotFound(
            f"The file of export {export.number} is no longer in the storage. Create the export again."
        ) from None
    kind = {**CONTENT_TYPES, **OTHER_TYPES}.get(export.format, "application/octet-stream")
    answer = FileResponse(file, as_attachment=True, filename=export.name, content_type=kind)
    answer["ETag"] = f'"{export.sha256}"'
    return answer
