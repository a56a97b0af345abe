"""Request checks: parameters and fields that the API's description does not name are rejected (422).

The decorators that describe an operation (`extend_schema`) are the only list of what a request may have. So a
misspelled parameter never gives an answer to another question.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from shared.errors import Invalid
from shared.wording import did_you_mean

LONGEST_NAME = 60
UNKNOWN_MAX = 100
"""So many unknown fields of a body are named."""


class Fields(NamedTuple):
    """What an object of a body may have: by name the fields of the object inside it, where there is one.

    `each`: a list of such objects, or objects by keys that are free.
    """

    names: Mapping[str, "Fields | None"]
    each: bool = False


class Operation(NamedTuple):
    """What one method of one address takes. `bodies`: the fields by content type, where the description gives any."""

    parameters: Mapping[str, OpenApiParameter]
    bodies: Mapping[str, Fields]


def require_described(request: Request, view: Any) -> None:
    """Raises Invalid for a parameter, a parameter's value or a field of a body that the description rules out."""
    if request.method in (None, "OPTIONS") or not hasattr(view, str(request.method).lower()):
        return
    operation = operation_of(view.__class__, "GET" if request.method == "HEAD" else str(request.method))
    if fields := wrong_parameters(operation.parameters, request.query_params):
        raise Invalid("Some query parameters are not valid.", fields=fields)
    known = operation.bodies.get((request.content_type or "").split(";")[0].strip().lower())
    if known is not None:
        sent: Any = request.data
        if fields := dict(islice(unknown_fields(known, sent), UNKNOWN_MAX)):
            raise Invalid("Some fields are not known.", fields=fields)


@cache
def operation_of(view: type[Any], method: str) -> Operation:
    """What the description of a view's method names."""
    described = getattr(getattr(view, method.lower()), "kwargs", {}).get("schema")
    parameters: dict[str, OpenApiParameter] = {}
    bodies: Mapping[str, Fields] = {}
    if described is not None:
        schema = described()
        schema.view, schema.method = view(request=None, args=(), kwargs={}, format_kwarg=None), method
        named = [each for each in schema.get_override_parameters() if isinstance(each, OpenApiParameter)]
        parameters = {each.name: each for each in named if each.location == OpenApiParameter.QUERY}
        bodies = {} if method == "GET" else _bodies_of(schema.get_request_serializer())
    pages = getattr(view, "pagination_class", None)
    if method == "GET" and hasattr(view, "list") and pages is not None:
        for each in pages().get_schema_operation_parameters(view):
            parameters.setdefault(each["name"], OpenApiParameter(each["name"], str))
    return Operation(parameters, bodies)


def _bodies_of(described: Any) -> Mapping[str, Fields]:
    if not isinstance(described, Mapping):
        described = {"application/json": described}
    bodies = {kind: _body_of(each) for kind, each in described.items()}
    return {kind: fields for kind, fields in bodies.items() if fields is not None}


def _body_of(described: Any) -> Fields | None:
    if isinstance(described, Mapping):  # a schema; one without properties does not name its fields
        properties = described.get("properties")
        return Fields(dict.fromkeys(properties)) if properties else None
    if isinstance(described, type) and issubclass(described, serializers.BaseSerializer):
        described = described()
    return _fields_of(described)


def _fields_of(field: Any) -> Fields | None:
    """The names inside a field that holds objects; None where it holds anything else."""
    match field:
        case serializers.Serializer():
            return Fields({name: _fields_of(each) for name, each in field.fields.items() if not each.read_only})
        case serializers.ListSerializer() | serializers.ListField() | serializers.DictField():
            inner = _fields_of(field.child)
            return inner and Fields(inner.names, each=True)
    return None


def wrong_parameters(known: Mapping[str, OpenApiParameter], given: Any) -> dict[str, list[str]]:
    """Sentences by name for parameters that are not known, and for values that are none of the parameter's."""
    found: dict[str, list[str]] = {}
    for name in given:
        if name not in known:
            found[name[:LONGEST_NAME]] = [f"Unknown parameter “{name[:LONGEST_NAME]}”.{meant(name, known)}"]
        elif sentence := next(filter(None, (_wrong_value(known[name], value) for value in given.getlist(name))), ""):
            found[name] = [sentence]
    return found


def _wrong_value(parameter: OpenApiParameter, value: str) -> str:
    if value == "":
        return ""
    if parameter.enum and value not in parameter.enum:
        return f"Use one of {', '.join(map(str, parameter.enum))}."
    if parameter.type is int and not (value.isascii() and value.isdecimal()):
        return "Enter a whole number."
    if parameter.type is bool and value not in ("true", "false", "1", "0"):
        return "Use true or false."
    return ""


def page_size(request: Request, default: int, most: int) -> int:
    """How many rows a page of a list is to hold. Raises Invalid."""
    given = request.query_params.get("page_size")
    if given is None:
        return default
    if not given.isascii() or not given.isdecimal() or int(given[:9]) < 1:
        sentence = f"Enter a whole number from 1 to {most}."
        raise Invalid("The page size is not valid.", fields={"page_size": [sentence]})
    return min(int(given[:9]), most)


def unknown_fields(known: Fields, given: Any, path: str = "") -> Iterable[tuple[str, list[str]]]:
    """(path, sentences) of each field of a body that no description names."""
    if known.each:
        inner = given.items() if isinstance(given, Mapping) else enumerate(given) if isinstance(given, list) else ()
        for key, each in inner:
            yield from unknown_fields(Fields(known.names), each, f"{path}{key}.")
    elif isinstance(given, Mapping):
        for name, value in given.items():
            if name not in known.names:
                shown = str(name)[:LONGEST_NAME]
                yield f"{path}{shown}", [f"Unknown field “{shown}”.{meant(str(name), known.names)}"]
            elif (inside := known.names[name]) is not None:
                yield from unknown_fields(inside, value, f"{path}{name}.")


def meant(name: str, known: Iterable[str]) -> str:
    """“ Did you mean …?”, or what there is where no name is like it."""
    names = list(known)
    known_names = f" Known: {', '.join(names)}." if names else " None are known."
    return did_you_mean(name[:LONGEST_NAME], names) or known_names
