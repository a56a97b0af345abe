"""Lists in the body of a request."""

from typing import Any

from rest_framework import serializers

ERRORS_MOST = 10


class EntriesField(serializers.ListField):
    """A list of which the first wrong entries are reported: a body can have a million, each with its own message."""

    def run_child_validation(self, data: Any) -> list[Any]:
        found: list[Any] = []
        errors: dict[Any, Any] = {}
        for number, entry in enumerate(data):
            try:
                found.append(self.child.run_validation(entry))
            except serializers.ValidationError as error:
                errors[number] = error.detail
                if len(errors) == ERRORS_MOST:
                    break
        if errors:
            raise serializers.ValidationError(errors)
        return found
