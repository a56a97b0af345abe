"""Request bodies: the serializer that documents a body also reads it."""

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request

from annotation.core.api_requests import body_of
from annotation.core.errors import Invalid
from shared.entries_field import EntriesField


class StringField(serializers.CharField):
    """A string as it was sent; a number is none."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Enter text."}

    def __init__(self, invalid: str = "", **more: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **_saying(invalid, more))

    def to_internal_value(self, data: Any) -> str:
        return data if isinstance(data, str) else self.fail("invalid")


class Whole(serializers.IntegerField):
    """A whole number of JSON; a text of digits is none."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Enter a whole number."}

    def __init__(self, invalid: str = "", **more: Any) -> None:
        super().__init__(**_saying(invalid, more))

    def to_internal_value(self, data: Any) -> int:
        return data if isinstance(data, int) and not isinstance(data, bool) else self.fail("invalid")


class NumberField(serializers.FloatField):
    """A number of JSON, as it was sent; a text of digits is none."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Enter a number."}

    def __init__(self, invalid: str = "", **more: Any) -> None:
        super().__init__(**_saying(invalid, more))

    def to_internal_value(self, data: Any) -> float:
        return data if isinstance(data, int | float) and not isinstance(data, bool) else self.fail("invalid")


class Choice(serializers.ChoiceField):
    """One of some words; a sentence names them otherwise."""

    def __init__(self, choices: Any, invalid: str, **more: Any) -> None:
        super().__init__(choices, error_messages={"invalid_choice": invalid}, **more)


class Switch(serializers.BooleanField):
    """True or false of JSON."""

    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "Use true or false."}

    def to_internal_value(self, data: Any) -> bool:
        return data if isinstance(data, bool) else self.fail("invalid")


class CheckedListField(EntriesField):
    """A list whose entries are all of one kind; one sentence says what it is otherwise."""

    def __init__(self, invalid: str, **more: Any) -> None:
        super().__init__(**more)
        self.sentence = invalid

    def to_internal_value(self, data: Any) -> list[Any]:
        try:
            found: list[Any] = super().to_internal_value(data)
        except serializers.ValidationError:
            raise serializers.ValidationError(self.sentence) from None
        return found


def _saying(invalid: str, more: dict[str, Any]) -> dict[str, Any]:
    names = ("invalid", "min_value", "max_value") if invalid else ()
    return {**more, "error_messages": dict.fromkeys(names, invalid)}


class Body(serializers.Serializer[Any]):
    """The JSON object of a request. What is sent has the type that is declared, or `refusal` says that it has not.

    `documents` are fields that an action reads by rules of its own: they pass as they were sent, as do unknown ones.
    What is null counts as not sent where null means nothing.
    """

    refusal: ClassVar[str] = "Some fields are not valid."
    documents: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, request: Request) -> dict[str, Any]:
        """The fields that were sent. Raises Unreadable, and Invalid with a sentence for each of another type."""
        given = body_of(request)
        read = {name: field for name, field in cls._read() if name in given}
        sent = {name: given[name] for name, field in read.items() if given[name] is not None or field.allow_null}
        others = {name: value for name, value in given.items() if name not in read}
        if not sent:
            return others
        serializer = cls(data=sent, partial=True)
        if not serializer.is_valid():
            raise Invalid(cls.refusal, fields={name: [*_said(each)] for name, each in serializer.errors.items()})
        return {**others, **serializer.validated_data}

    @classmethod
    @cache
    def _read(cls) -> list[tuple[str, serializers.Field[Any, Any, Any, Any]]]:
        """The fields that are no documents; made once, because a submit is a body of documents alone."""
        return [(name, field) for name, field in cls().fields.items() if name not in cls.documents]


def _said(detail: Any) -> Iterator[str]:
    """The sentences of an error, each once."""
    if isinstance(detail, dict):
        detail = list(detail.values())
    nested = (([each] if isinstance(each, str) else _said(each)) for each in detail)
    yield from dict.fromkeys(sentence for each in nested for sentence in each)
