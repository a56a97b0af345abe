"""The GraphQL interface of the local GitHub: graphql-core with GitHub's public schema, bounds and prices."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLLeafType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    build_schema,
    execute_sync,
    get_named_type,
    is_leaf_type,
    parse,
    validate,
    value_from_ast_untyped,
)
from graphql.execution import Executor

from tests.github import descriptions
from tests.github.connections import Refused
from tests.github.resolvers import FIELDS, LEAVES, Context, type_of

NODES_MAX = 500_000


class _Quick(Executor[Any]):
    """Asks values that need nothing but their object without the ceremony: most fields are such."""

    def execute_field(self, parent_type: Any, source: Any, details: Any, path: Any, position_context: Any) -> Any:
        field = parent_type.fields.get(details[0].node.name.value)
        leaf = getattr(field, "leaf", None)
        if leaf is None:
            return super().execute_field(parent_type, source, details, path, position_context)
        value = leaf(source)
        if value is None and not field.may_be_null:
            raise GraphQLError(f"Cannot return null for non-nullable field {parent_type.name}.{path.key}.")
        return None if value is None else field.serialize(value)


@cache
def schema() -> GraphQLSchema:
    """GitHub's public schema with our answers; building it takes a second."""
    built = build_schema(descriptions.graphql_schema(), assume_valid=True, assume_valid_sdl=True, no_location=True)
    for kind in built.type_map.values():
        if isinstance(kind, (GraphQLInterfaceType, GraphQLUnionType)):
            kind.resolve_type = lambda value, *_: type_of(value)
        if not isinstance(kind, GraphQLObjectType) or kind.name.startswith("__"):
            continue
        leaves, fields = LEAVES.get(kind.name, {}), FIELDS.get(kind.name, {})
        for missing in (leaves.keys() | fields.keys()) - kind.fields.keys():
            raise AssertionError(f"GitHub's schema has no field {kind.name}.{missing}.")
        for name, field in kind.fields.items():
            named = get_named_type(field.type)
            if name in leaves and is_leaf_type(named) and not field.args:
                _set_leaf(field, leaves[name], named)
            elif name in leaves:
                field.resolve = lambda source, _info, get=leaves[name], **_given: get(source)
            elif name in fields:
                field.resolve = lambda source, info, get=fields[name], **given: get(source, info.context, **given)
            else:
                field.resolve = _unanswered(f"{kind.name}.{name}")
    return built


def _set_leaf(field: Any, get: Any, named: GraphQLLeafType) -> None:
    field.resolve = lambda source, _info, **_given: get(source)
    field.leaf, field.may_be_null = get, field.type is named
    field.serialize = named.serialize


def _unanswered(name: str) -> Any:
    def resolve(_source: Any, _info: Any, **_given: Any) -> None:
        raise NotImplementedError(f"The local GitHub has no answer for {name}: add it to tests/github/resolvers.py.")

    return resolve


@dataclass(frozen=True, slots=True)
class Price:
    """What a query may bring at most, and the points that it costs."""

    n_nodes: int
    n_points: int


@dataclass(frozen=True, slots=True)
class Query:
    """A document that was read and found valid, or what is wrong with it."""

    document: DocumentNode | None
    errors: tuple[Mapping[str, Any], ...] = ()


@lru_cache(256)
def read(text: str) -> Query:
    """A query by its text; one that is wrong at GitHub is wrong here."""
    try:
        document = parse(text)
    except GraphQLError as error:
        return Query(None, (_shape(error),))
    wrong = validate(schema(), document)
    if wrong:
        return Query(None, tuple(_shape(error) for error in wrong))
    return Query(document)


def _shape(error: GraphQLError) -> dict[str, Any]:
    original = error.original_error
    shape: dict[str, Any] = {"type": original.kind} if isinstance(original, Refused) else {}
    if error.path is not None:
        shape["path"] = error.path
    if error.locations:
        shape["locations"] = [{"line": each.line, "column": each.column} for each in error.locations]
    return shape | {"message": error.message}


def price(document: DocumentNode, variables: Mapping[str, Any]) -> Price:
    """By GitHub's published rule: a request for each connection of each parent, by hundreds, and at least one point."""
    fragments = {each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)}
    operation = next(each for each in document.definitions if isinstance(each, OperationDefinitionNode))
    defaults = {
        each.variable.name.value: value_from_ast_untyped(each.default_value)
        for each in operation.variable_definitions or ()
        if each.default_value
    }
    n_nodes, n_requests = _count(operation.selection_set, 1, fragments, defaults | dict(variables))
    return Price(n_nodes, max(1, round(n_requests / 100)))


def _value(node: ValueNode, variables: Mapping[str, Any]) -> Any:
    return variables.get(node.name.value) if isinstance(node, VariableNode) else value_from_ast_untyped(node)


def _count(
    selections: SelectionSetNode,
    n_parents: int,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
) -> tuple[int, int]:
    n_nodes = n_requests = 0
    inside: SelectionSetNode | None
    for each in selections.selections:
        if isinstance(each, FragmentSpreadNode):
            inside, n = fragments[each.name.value].selection_set, n_parents
        elif isinstance(each, InlineFragmentNode):
            inside, n = each.selection_set, n_parents
        else:
            assert isinstance(each, FieldNode)
            given = {one.name.value: _value(one.value, variables) for one in each.arguments or ()}
            size = given.get("first") or given.get("last")
            inside, n = each.selection_set, n_parents
            if isinstance(size, int):
                n_requests, n_nodes, n = n_requests + n_parents, n_nodes + n_parents * size, n_parents * size
            elif each.name.value == "nodes" and isinstance(given.get("ids"), list):
                n_nodes, n = n_nodes + n_parents * len(given["ids"]), n_parents * len(given["ids"])
        if inside is not None:
            deeper = _count(inside, n, fragments, variables)
            n_nodes, n_requests = n_nodes + deeper[0], n_requests + deeper[1]
    return n_nodes, n_requests


def answer(document: DocumentNode, variables: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """The data, and errors with GitHub's types where there are some."""
    result = execute_sync(
        schema(), document, context_value=context, variable_values=dict(variables), executor_class=_Quick
    )
    for error in result.errors or ():
        if error.original_error is not None and not isinstance(error.original_error, (Refused, GraphQLError)):
            raise error.original_error
    errors = [_shape(error) for error in result.errors or ()]
    if result.data is None and not any("path" in error for error in errors):
        return {"errors": errors}  # it was not carried out: a variable does not fit
    return {"data": result.data} | ({"errors": errors} if errors else {})
