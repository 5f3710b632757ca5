"""Request and reply models, and the warnings about unknown members.

A `Body` ignores unknown members and names them in `warnings` of the reply. A `StrictBody` refuses them, where a
misspelled name would change the effect.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import chain, islice
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails, PydanticCustomError
from starlette.types import Receive, Scope, Send

from builders.kit.errors import MAX_ERRORS
from builders.kit.values.money_inputs import MoneyInput

MAX_WARNINGS = 20
UNKNOWN_FIELD = "unknown_field"
_JSON = (b"content-type", b"application/json")
_LONGEST_NAME = 80  # characters of a member's name in a suggestion


def by_example(*examples: JsonDict) -> JsonDict:
    """Return the examples of a model, as JSON text: FastAPI drops nulls from other values."""
    return {"examples": [json.dumps(each) for each in examples]}


class UnknownField(BaseModel):
    """A member of the body that was not understood, and so ignored, or another thing to check."""

    field: Annotated[str, Field(description="Path of the member in the body, such as `metadata.lables`.")]
    code: Annotated[str, Field(description="`unknown_field`, `amount_as_number`, or one of the operation.")] = (
        UNKNOWN_FIELD
    )
    did_you_mean: Annotated[
        str | None, Field(description="The known member with the closest name; null when none is close.")
    ]
    message: Annotated[str, Field(description="The same in a sentence, for people.")]


class Body(BaseModel):
    """A request body; unknown keys are ignored and named in the answer, but for those that ask for a limit.

    `not_offered` are such names of this body alone, with what is said of them, besides those of
    `restrictions`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    not_offered: ClassVar[Mapping[str, str]] = MappingProxyType({})


class StrictBody(BaseModel):
    """A request body, or a part of one, in which an unknown member is an error with a suggestion."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _suggest(cls, value: Any, handler: ModelWrapValidatorHandler["StrictBody"]) -> "StrictBody":
        try:
            return handler(value)
        except ValidationError as error:
            # A suggestion costs more than all other work on a hostile body, so their number is limited.
            found = error.errors(include_url=False, include_input=False)[:MAX_ERRORS]
            lines = [_meant(cls, line) for line in found]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None


class Reply(BaseModel):
    """An answer; read from a record's attributes.

    What a subclass lists in `shown_once` is not kept for a replay, whose answer comes without it: names, or in
    pydantic's form what is in members of members.
    """

    model_config = ConfigDict(from_attributes=True)
    shown_once: ClassVar[frozenset[str] | Mapping[str, Any]] = frozenset()

    @classmethod
    def from_record(cls, record: object, **computed: Any) -> Self:
        """Return the reply: each required member that is not computed is the record's attribute of its name.

        Raises AttributeError for a member that neither gives.
        """
        names = _record_members(cls, frozenset(computed))
        return cls.model_validate({name: getattr(record, name) for name in names} | computed)


@cache
def _record_members(model: type[Reply], computed: frozenset[str]) -> Sequence[str]:
    fields = model.model_fields.items()
    return [name for name, field in fields if field.is_required() and name not in computed]


class WriteReply(Reply):
    """An answer to a body; says which members of it were not understood."""

    warnings: Annotated[
        list[UnknownField], Field(description="Unknown members, which were ignored; amounts sent as numbers.")
    ] = []


@dataclass(frozen=True, slots=True)
class ReplyWithHeaders:
    """The result of a handler whose reply has its own headers, such as a cookie or an ETag.

    The replay of an idempotent request has those of `idempotency.REPLAYED`.
    """

    reply: object
    headers: Mapping[str, str]


class RawResponse(Response):
    """A response whose body is bytes, with all its headers; it can be sent many times."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        del scope, receive
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


class RawJsonResponse(RawResponse):
    """A response whose body is JSON text, with content-type and content-length."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(body, status, headers)
        self.raw_headers += (b"content-length", b"%d" % len(body)), _JSON


def _meant(model: type[BaseModel], line: Any) -> InitErrorDetails:
    """Return the error for pydantic; for an unknown member with the closest known name."""
    kind, message, context = line["type"], line["msg"], line.get("ctx", {})
    if kind == "extra_forbidden" and len(line["loc"]) == 1:
        return unknown_field_error(model, str(line["loc"][0]))
    kept = {"did_you_mean": context["did_you_mean"]} if "did_you_mean" in context else None
    said = PydanticCustomError(kind, message, kept)
    return InitErrorDetails(type=said, loc=line["loc"], input=None)


def unknown_field_error(model: type[BaseModel], name: str) -> InitErrorDetails:
    """Return the error of a member that the model does not have, with the closest known name."""
    meant = _closest(name, model)
    message = "Unknown field." + (f" Did you mean {meant!r}?" if meant else "")
    said = PydanticCustomError(UNKNOWN_FIELD, message, {"did_you_mean": meant} if meant else None)  # pyright: ignore[reportArgumentType] - it names a member of ours
    return InitErrorDetails(type=said, loc=(name,), input=None)


def _closest(name: str, model: type[BaseModel]) -> str | None:
    if len(name) > _LONGEST_NAME:
        return None
    return next(iter(get_close_matches(name, model.model_fields, n=1)), None)


_HOLDING = (BaseModel, list, tuple, MoneyInput)  # types with something to warn of


def unknown_fields(body: object, path: str = "") -> Iterator[UnknownField]:
    """Yield the unknown members of a body and of those in it, and the amounts that were sent as numbers."""
    if isinstance(body, MoneyInput) and body.is_number:
        said = f'Send the amount as text, "{body.amount}": a JSON number is not exact.'
        yield UnknownField(field=path[:-1], code="amount_as_number", did_you_mean=None, message=said)
    if isinstance(body, (list, tuple)):
        for at, each in enumerate(body):
            yield from unknown_fields(each, f"{path}{at}.")
    if not isinstance(body, BaseModel):
        return
    for name in body.model_extra or ():
        meant = _closest(name, type(body))
        hint = f" Did you mean {meant!r}?" if meant else ""
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        yield UnknownField(
            field=f"{path}{shown}", did_you_mean=meant, message=f"{shown!r} is not a field here; ignored.{hint}"
        )
    for name, inner in vars(body).items():
        if isinstance(inner, _HOLDING):
            yield from unknown_fields(inner, f"{path}{name}.")


def add_warnings(reply: object, *sent: object) -> None:
    """Add the first MAX_WARNINGS unknown members of the bodies to `warnings` of a WriteReply."""
    if isinstance(reply, WriteReply):
        odd = [body for body in sent if not _is_plain(body)]
        found = list(islice(chain.from_iterable(map(unknown_fields, odd)), MAX_WARNINGS)) if odd else []
        if found:  # seldom; an assignment to a model is slow
            reply.warnings = [*reply.warnings, *found]


def _is_plain(body: object) -> bool:
    """Return whether the body has no unknown member and contains no other body and no money."""
    if not isinstance(body, BaseModel) or body.model_extra:
        return False
    return not any(issubclass(kind, _HOLDING) for kind in set(map(type, vars(body).values())))
