"""Holds requests and answers of REST against GitHub's published OpenAPI description.

An answer has to have every field that the description requires, of the described type, and none that it does not
know; a request has to go to a described address with described parameters.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.github import descriptions

if TYPE_CHECKING:
    from tests.github.routes import Reply
    from tests.github.server import Asked

HOME = "urn:github"
GRAPHQL = ("/graphql", "/api/graphql")
ERROR = {"$ref": "#/components/schemas/basic-error"}
BLOCKED = {"type": "object", "required": ["message", "block"]}  # not described


@dataclass(frozen=True, slots=True)
class Route:
    """A described address, what may be asked of it and what it answers."""

    template: str
    pattern: re.Pattern[str]
    parameters: Mapping[str, Any]
    answers: Mapping[str, Any]


def rewritten(schema: Any, *, is_part: bool = False) -> Any:
    """The schema in JSON Schema's words, where an object has no fields but those described.

    OpenAPI 3.0 says `nullable`, JSON Schema that null is one of the types and of the enumerated values. `is_part` is
    true of the parts of an `allOf`, each of which describes only some of the fields.
    """
    if isinstance(schema, list):
        return [rewritten(each, is_part=is_part) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        name: {key: rewritten(each) for key, each in value.items()}
        if name == "properties"
        else rewritten(value, is_part=name == "allOf")
        for name, value in schema.items()
        if name not in {"example", "examples"}
    }
    combined = any(word in found for word in ("allOf", "anyOf", "oneOf"))
    if "properties" in found and "additionalProperties" not in found and not is_part and not combined:
        found["additionalProperties"] = False
    if found.pop("nullable", False):
        if isinstance(found.get("enum"), list) and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]
        if isinstance(found.get("type"), str):
            found["type"] = [found["type"], "null"]
        else:
            return {"anyOf": [{"type": "null"}, found]}
    return found


@cache
def _registry() -> Registry[Any]:
    components = descriptions.openapi()["components"]
    contents = {"components": {"schemas": {name: rewritten(each) for name, each in components["schemas"].items()}}}
    found: Registry[Any] = Registry().with_resource(HOME, DRAFT202012.create_resource(contents))
    return found


def _absolute(schema: Any) -> Any:
    """The same schema with its references into the description."""
    if isinstance(schema, list):
        return [_absolute(each) for each in schema]
    if isinstance(schema, dict):
        return {k: f"{HOME}{v}" if k == "$ref" else _absolute(v) for k, v in schema.items()}
    return schema


def _validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator(_absolute(rewritten(schema)), registry=_registry(), format_checker=FormatChecker())


def _resolved(value: Any) -> Any:
    """A parameter or an answer of the description, where it is only named."""
    while "$ref" in value:
        kind, name = value["$ref"].split("/")[-2:]
        value = descriptions.openapi()["components"][kind][name]
    return value


@cache
def _routes() -> tuple[Route, ...]:
    found = []
    for template, methods in descriptions.openapi()["paths"].items():
        if "get" in methods:
            pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", re.sub(r"[.]", r"\\.", template)))
            given = [_resolved(each) for each in methods["get"].get("parameters", [])]
            parameters = {each["name"]: each["schema"] for each in given if each["in"] == "query"}
            found.append(Route(template, pattern, parameters, methods["get"]["responses"]))
    return tuple(sorted(found, key=lambda route: route.template.count("{")))


@cache
def route_of(path: str) -> Route | None:
    """The described address; /repositories/ID stands for /repos/OWNER/NAME, where GitHub's links and redirects lead."""
    path = re.sub(r"^/repositories/\d+(?=/|$)", "/repos/o/r", path)
    return next((route for route in _routes() if route.pattern.fullmatch(path)), None)


def wrong_with_request(path: str, query: Mapping[str, str]) -> Iterator[str]:
    """What GitHub would not understand, in sentences."""
    route = route_of(path)
    if route is None:
        yield f"GitHub has no address {path}."
        return
    for name, text in query.items():
        schema = route.parameters.get(name)
        if schema is None:
            yield f"{route.template} has no parameter {name}."
            continue
        value = int(text) if _resolved(schema).get("type") == "integer" and text.isdecimal() else text
        error = best_match(_validator(schema).iter_errors(value))
        if error or (name in {"per_page", "page"} and not 1 <= int(value) <= (100 if name == "per_page" else 10**6)):
            yield f"{route.template}: {name}={text} is not what is described."


def wrong_with_answer(path: str, status: int, value: Any) -> Iterator[str]:
    """Where the answer differs from the description, in sentences."""
    route = route_of(path)
    if route is None:
        return
    described = route.answers.get(str(status))
    if described is None:
        if status < 400 and status not in {301, 304}:
            yield f"{route.template} does not answer with {status}."
        elif status >= 400:
            yield from _errors(route, status, BLOCKED if status == 451 else ERROR, value)
        return
    content = _resolved(described).get("content", {}).get("application/json")
    if content is None:
        if value is not None:
            yield f"{route.template}, {status}: the answer should have no body."
        return
    schema = content["schema"]
    if isinstance(value, list) and schema.get("type") == "array":
        for row in value:
            yield from _errors(route, status, schema["items"], row)
    else:
        yield from _errors(route, status, schema, value)


_validators: dict[str, Draft202012Validator] = {}


def _errors(route: Route, status: int, schema: Any, value: Any) -> Iterator[str]:
    validator = _validators.setdefault(repr(schema), _validator(schema))
    for error in validator.iter_errors(value):
        told = error
        while told.context:
            told = min(told.context, key=lambda each: (-len(each.absolute_path), each.message))
            fitting = _of_kind(error, value)
            if fitting:
                told = fitting
                break
        where = ".".join(map(str, told.absolute_path)) or "the answer"
        yield f"{route.template}, {status}: {where}: {told.message[:300]}"


def _of_kind(error: Any, value: Any) -> Any:
    """Of the alternatives none of which fits, the fault of the one that misses it by least."""
    by_choice: dict[int, list[Any]] = {}
    for each in error.context:
        by_choice.setdefault(each.schema_path[0], []).append(each)
    return min(by_choice.values(), key=len)[0] if by_choice else None


def shape_of(value: Any) -> Any:
    """What kind of value this is, all the way down: answers of one shape are held against the description once."""
    if isinstance(value, dict):
        return tuple((name, shape_of(each)) for name, each in value.items())
    if isinstance(value, list):
        return frozenset(map(shape_of, value))
    return type(value)


@dataclass
class Recorder:
    """Takes the answers of a local GitHub as they go out; `wrong` has a sentence for each difference."""

    wrong: list[str] = field(default_factory=list)
    seen: set[Any] = field(default_factory=set)

    def take(self, asked: "Asked", reply: "Reply") -> None:
        if asked.path in GRAPHQL or isinstance(reply.value, bytes):
            return
        route = route_of(asked.path)
        question = (route and route.template, tuple(sorted(asked.query.items())))
        if question not in self.seen:
            self.seen.add(question)
            self.wrong += wrong_with_request(asked.path, asked.query)
        rows = reply.value if isinstance(reply.value, list) else [reply.value]
        fresh = []
        for row in rows:
            shape = (route and route.template, reply.status, shape_of(row))
            if shape not in self.seen:
                self.seen.add(shape)
                fresh.append(row)
        if fresh:
            value = fresh if isinstance(reply.value, list) else fresh[0]
            self.wrong += wrong_with_answer(asked.path, reply.status, value)
