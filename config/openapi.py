"""What the API's description says of errors, which are the same for every operation."""

from typing import Any

ERROR = {
    "type": "object",
    "required": ["code", "message", "fields"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "fields": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    },
}
REASONS = {
    400: "What was sent can't be read.",
    401: "There is no valid token.",
    403: "The role, or the token's scope, is too small.",
    404: "It is not there, or not open to you.",
    422: "`fields` says what is not valid.",
    429: "Too many requests; `Retry-After` says how long to wait.",
}
METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def describe_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: adds the one error shape, and the statuses that an operation can be refused with."""
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR
    for path in result["paths"].values():
        for method, operation in path.items():
            if method in METHODS:
                _describe(operation)
    return result


def _describe(operation: dict[str, Any]) -> None:
    given = operation.get("parameters", [])
    statuses = {400, 422} if "requestBody" in operation else set()
    statuses |= {400, 422} if any(parameter["in"] == "query" for parameter in given) else set()
    statuses |= {404} if any(parameter["in"] == "path" for parameter in given) else set()
    statuses |= {401, 403, 429} if any(operation.get("security", [])) else set()
    answers = operation["responses"]
    for status in statuses:
        answers.setdefault(str(status), {"description": REASONS[status]})
    for status, answer in answers.items():
        if status >= "400":
            answer.setdefault("content", {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}})
