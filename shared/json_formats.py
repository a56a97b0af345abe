"""JSON parser and content negotiation of the API: only storable JSON is accepted, and answers are always JSON."""

from io import BytesIO
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from shared.errors import Unreadable
from shared.storable_json import DEEPEST, check_storable, require_few_values


class StorableJson(JSONParser):
    """JSON without what Postgres can't hold: U+0000 and halves of surrogate pairs. Raises Invalid with the fields.

    Raises Invalid also for too many values.
    """

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        body = stream.read()
        require_few_values(body)
        try:
            found = super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError as error:
            raise Unreadable(f"The JSON is nested more than {DEEPEST} levels deep.") from error
        check_storable(found)
        return found


class JsonFallbackNegotiation(DefaultContentNegotiation):
    """The usual choice of an answer's format; where nothing fits the Accept header, the first one and no 406."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        try:
            return super().select_renderer(request, renderers, format_suffix)
        except NotAcceptable:
            return renderers[0], renderers[0].media_type
