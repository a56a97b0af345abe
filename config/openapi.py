"""OpenAPI description: errors and files, which are the same for every operation."""

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
    403: "Your role, or the token's scope, does not allow it.",
    404: "Not found, or you don't have access.",
    409: "Its status does not allow it, or your data are outdated.",
    413: "The request is too large.",
    415: "A body of this type can't be read.",
    422: "`fields` lists what is not valid.",
    429: "Too many requests; `Retry-After` shows how long to wait.",
    503: "The database or disk space is not available. Nothing was saved, and `Retry-After` shows when to try again.",
}
FILES = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "md": "text/markdown",
}
"""Types of the files that `?format=` asks for."""
METHODS = frozenset({"get", "post", "put", "patch", "delete"})


def describe_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: adds the one error shape, the statuses of refusals, and the types of files."""
    result.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR
    for path in result["paths"].values():
        for method, operation in path.items():
            if method in METHODS:
                _describe(method, operation)
    return result


def _describe(method: str, operation: dict[str, Any]) -> None:
    given = operation.get("parameters", [])
    statuses = {400, 413, 415} if "requestBody" in operation else set()
    statuses |= {409} if method != "get" and any(operation.get("security", [])) else set()
    statuses |= {400} if any(parameter["in"] == "query" for parameter in given) else set()
    statuses |= {404} if any(parameter["in"] == "path" for parameter in given) else set()
    statuses |= {401, 403, 429} if any(operation.get("security", [])) else set()
    statuses |= {422, 503}  # 422 everywhere: it answers any parameter that is not known
    answers = operation["responses"]
    for status in statuses:
        answers.setdefault(str(status), {"description": REASONS[status]})
    for status, answer in answers.items():
        if status >= "400":
            answer.setdefault("content", {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}})
    formats = [each["schema"].get("enum", []) for each in given if each["name"] == "format" and each["in"] == "query"]
    for name in formats[0] if formats else ():
        if name in FILES:
            answers["200"].setdefault("content", {}).setdefault(FILES[name], {"schema": {"type": "string"}})
