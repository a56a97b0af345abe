"""Storage in a folder: a file takes its name once it is complete, also where the disk gets full."""

import os
import secrets
from pathlib import Path, PurePosixPath
from typing import Any

from django.core.files.storage import FileSystemStorage


class Folder(FileSystemStorage):
    """As Django's, but a file is written under another name beside its place, and what is not finished goes."""

    def _save(self, name: str, content: Any) -> str:
        place = PurePosixPath(name.replace("\\", "/"))
        half = self.path(str(place.with_name(f".half-{secrets.token_hex(8)}")))
        try:
            super()._save(os.path.relpath(half, self.location), content)  # type: ignore[misc]  # unknown to its stubs
            while True:
                try:
                    Path(self.path(name)).touch(exist_ok=False)  # the name is ours
                    break
                except FileExistsError:
                    name = self.get_available_name(name)
            Path(half).replace(self.path(name))
        finally:
            Path(half).unlink(missing_ok=True)
        return name.replace("\\", "/")
