"""Request and reply models, and the warnings about unknown members.

A `Body` ignores unknown members and names them in `warnings` of the reply. Where a member limits, costs or grants,
a body refuses them: those with a similar known name (`refuses_similar`), or all (`extra="forbid"`). A `StrictBody`
refuses all, and is published as a closed object. A `PatchBody` is a merge patch (RFC 7396) with an effect.
"""

import asyncio
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, islice
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, TypeVar

from fastapi import Request, Response
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import InitErrorDetails, PydanticCustomError, from_json
from starlette.types import Receive, Scope, Send

from builders.kit.errors import MAX_ERRORS, MEMBER_REPEATED, UNKNOWN_FIELD
from builders.kit.http.media_types import accepts_gzip
from builders.kit.values.money import CURRENCIES, UNKNOWN_CURRENCY, Money, MoneyInput
from builders.kit.values.patches import UNSET, Patch
from builders.kit.values.resources import Member, members_of
from builders.kit.values.suggestions import find_similar

# An identifier that is read as text: a malformed one is refused in the same way as an unknown one.
IdText = Annotated[str, Field(json_schema_extra={"format": "uuid"})]

MAX_WARNINGS = 20
# Members that ask for less than the operation does: a warning would come after the effect.
UNSUPPORTED = frozenset(
    {
        "allowed_ips",
        "dry_run",
        "mandate",
        "max_total",
        "preview",
        "read_only",
        "scopes",
        "validate_only",
    }
)
_UNSUPPORTED_ERROR = PydanticCustomError(
    "member_unsupported", "The operation does not support this member and had no effect: omit it."
)
MAX_UNREAD = 16 * 1024  # bytes of the body of an operation that has none
_JSON = (b"content-type", b"application/json")
MIN_BYTES = 64 * 1024  # smaller responses are sent as they are
_LEVEL = 4  # of gzip
_VARY, _GZIP = (b"vary", b"Accept-Encoding"), (b"content-encoding", b"gzip")
_PATCH_EXPECTED = (
    "A patch is a JSON object of the members to change (JSON Merge Patch, RFC 7396). "
    "A list of operations (JSON Patch, RFC 6902) is not supported."
)
_LONGEST_NAME = 80  # characters of a member's name in a suggestion
_MAX_SUGGESTIONS = 5  # for the members of one object
_MAX_COMPARED = 100  # unknown members of a body that are compared with the known ones
_SHORTEST_WORD = 4  # characters of a name that is looked for among the words of the known ones
_MAX_MEANT = 3  # known members in a message

T = TypeVar("T")
ABSENT: Any = None  # the default of a member of a patch that cannot be null


def _no_default(schema: JsonDict) -> None:
    """Publish no default: an absent member keeps its value."""
    schema.pop("default", None)


NOT_NULL = Field(json_schema_extra=_no_default)


class UnknownField(BaseModel):
    """A member of the body that was ignored because it is unknown, or another warning."""

    field: Annotated[str, Field(description="Path of the member in the body, such as `metadata.lables`.")]
    code: Annotated[str, Field(description="`unknown_field`, `amount_as_number`, or a code of the operation.")] = (
        UNKNOWN_FIELD
    )
    did_you_mean: Annotated[
        str | None, Field(description="The known member with the closest name; null when none is close.")
    ]
    message: Annotated[str, Field(description="The warning as a sentence.")]


def _plain(name: str) -> str:
    """Return a name without case, separators and a plural: `allowedIPs` is `allowed_ips`."""
    letters = "".join(filter(str.isalnum, name[:_LONGEST_NAME])).casefold()
    return letters.removesuffix("s")


_UNSUPPORTED_PLAIN = frozenset(map(_plain, UNSUPPORTED))


def _is_unsupported(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and _plain(name) in _UNSUPPORTED_PLAIN


def _is_strict(model: type[BaseModel]) -> bool:
    return model.model_config.get("extra") == "forbid"


def _say_openness(schema: JsonDict, model: type[BaseModel]) -> None:
    """Publish an open object, also of a body that refuses members, with the rule as text.

    The specification types these bodies `object`, so that any JSON object fits them.
    """
    schema["additionalProperties"] = True
    rule = ""
    if _is_strict(model):
        rule = "Unknown members are refused."
    elif issubclass(model, Body) and model.refuses_similar:
        rule = "Unknown members that resemble known ones are refused."
    if rule and rule not in str(schema.get("description", "")):
        schema["description"] = f"{schema.get('description', '')} {rule}".strip()


class Body(BaseModel):
    """A request body; unknown members are ignored and named in the reply, except those that are UNSUPPORTED."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra=_say_openness)
    # Whether unknown members are refused that resemble known ones.
    refuses_similar: ClassVar[bool] = False
    resource: ClassVar[type]  # the record that it describes: `create_of`, `patch_of`

    def has_effect(self) -> bool:
        """Return whether the body asks for something."""
        return True

    def values(self, *, currency: str | None = None) -> dict[str, Any]:
        """Return the values of the record's members that the body has; a list or pairs that are null are empty.

        An amount without a currency is in `currency`. Raise Invalid when both lack one.
        """
        return {
            each.name: self._value(each, value, currency)
            for each in members_of(self.resource)
            for value in self._given(each.name)
        }

    def _value(self, member: Member, value: Any, currency: str | None) -> Any:  # of the member's type
        if isinstance(value, MoneyInput):
            return value.to_money(currency, field=member.name)
        return self._empty(member) if value is None else value

    def _given(self, name: str) -> Sequence[Any]:
        """Return the value of a member, if the body has it."""
        return [getattr(self, name)] if name in type(self).model_fields else []

    def _empty(self, member: Member) -> Any:  # a value of the member's type
        """Return the value of a member that is null."""
        return [] if member.is_list else {} if member.is_mapping else None

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_unknown(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        refused = _refused_members(cls, value) if isinstance(value, Mapping) else ()
        try:
            body = handler(value)
        except ValidationError as error:
            if not refused and not _is_strict(cls):
                raise
            found = error.errors(include_url=False, include_input=False)
            others = (each for each in found if (each["type"], len(each["loc"])) != ("extra_forbidden", 1))
            lines = [*map(_kept, islice(others, MAX_ERRORS)), *refused]
            raise ValidationError.from_exception_data(cls.__name__, lines[:MAX_ERRORS]) from None
        if refused and body.has_effect():
            raise ValidationError.from_exception_data(cls.__name__, list(refused))
        return body


class StrictBody(Body):
    """A request body, or a part of one, in which an unknown member is an error with a suggestion."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=None)


class PatchBody(Body):
    """A merge patch: an absent member does not change, null clears it.

    A patch without effect is refused: one without members (`patch_empty`), and one whose members are all unknown
    (`unknown_field` for each). With a known member, an unknown one is a warning, as in every Body.
    """

    # Members that change nothing by themselves, such as the version that is expected.
    conditions: ClassVar[frozenset[str]] = frozenset()

    def _given(self, name: str) -> Sequence[Any]:
        """Return the value of a member, if the patch has it and it is no condition."""
        return super()._given(name) if name in self.model_fields_set - self.conditions else []

    def _empty(self, member: Member) -> Any:
        """Return the value of a member that is null; that of pairs is merged, so null is not the same as none."""
        return [] if member.is_list else None

    def patch_of(self, name: str, value: T) -> Patch[T]:
        """Return the member's value, or UNSET when the body does not have the member."""
        return value if name in self.model_fields_set else UNSET

    def patches(self, *names: str) -> dict[str, Any]:
        """Return the values of members, UNSET for those that the body does not have."""
        return {name: self.patch_of(name, getattr(self, name)) for name in names}

    def sent_members(self) -> dict[str, Any]:
        """Return the known members of the body, and of the bodies in it, as JSON values: for a deep merge."""
        found: dict[str, Any] = _sent(self)
        return found

    def has_effect(self) -> bool:
        """Return whether the patch has a known member that changes something."""
        return not self.model_fields_set.isdisjoint(type(self).model_fields.keys() - self.conditions)

    @model_validator(mode="before")
    @classmethod
    def _refuse_operations(cls, value: Any) -> Any:  # any JSON value
        if isinstance(value, list) and value and isinstance(value[0], Mapping) and "op" in value[0]:
            raise PydanticCustomError("patch_form", _PATCH_EXPECTED)
        return value

    @model_validator(mode="after")
    def _require_change(self) -> Self:
        if self.has_effect():
            return self
        model = type(self)
        unknown = [_unknown_member(model, name) for name in islice(self.model_extra or (), MAX_WARNINGS)]
        if unknown:
            raise ValidationError.from_exception_data(model.__name__, unknown)
        known = [name for name in model.model_fields if name not in model.conditions]
        message = "A patch must have at least one of {known}."
        raise PydanticCustomError("patch_empty", message, {"known": ", ".join(known)})


def _sent(value: object) -> Any:  # a JSON value
    if isinstance(value, BaseModel):
        known = value.model_fields_set & type(value).model_fields.keys()
        return {name: _sent(getattr(value, name)) for name in known}
    if isinstance(value, Mapping):
        return {name: _sent(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_sent(each) for each in value]
    return value.to_wire() if isinstance(value, Money) else value


class Reply(BaseModel):
    """A reply; read from the attributes of a record."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def from_record(cls, record: object, **computed: Any) -> Self:
        """Return the reply: each required member that is not computed is the record's attribute of its name.

        Raise AttributeError for a member that is neither computed nor an attribute.
        """
        names = _record_members(cls, frozenset(computed))
        return cls.model_validate({name: getattr(record, name) for name in names} | computed)


@cache
def _record_members(model: type[Reply], computed: frozenset[str]) -> Sequence[str]:
    fields = model.model_fields.items()
    return [name for name, field in fields if field.is_required() and name not in computed]


WARNINGS = Annotated[
    list[UnknownField], Field(description="Unknown members, which were ignored; amounts sent as numbers.")
]


class WriteReply(Reply):
    """A reply to a body, with warnings about its unknown members."""

    warnings: WARNINGS = []


@dataclass(frozen=True, slots=True)
class ReplyWithHeaders:
    """The result of a handler whose reply has its own headers, such as a cookie or an ETag.

    The replay of an idempotent request has those of `idempotency.REPLAYED_HEADERS`.
    """

    reply: object
    headers: Mapping[str, str]


class RawResponse(Response):
    """A response whose body is bytes, with all its headers; it can be sent many times.

    JSON text has content-type and content-length, and a large one without a secret is compressed when it is sent.
    """

    def __init__(
        self,
        body: bytes,
        status: int,
        headers: Mapping[str, str] = MappingProxyType({}),
        *,
        is_json: bool = False,
        has_secret: bool = False,
    ) -> None:
        self.body, self.status_code, self.background = body, status, None
        self.raw_headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        if is_json:
            self.raw_headers += (b"content-length", b"%d" % len(body)), _JSON
        self._may_compress = is_json and not has_secret and len(body) >= MIN_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        del receive
        body, headers = bytes(self.body), self.raw_headers
        if self._may_compress:
            headers = [*headers, _VARY]
        if self._may_compress and accepts_gzip(scope["headers"]):
            body = await asyncio.to_thread(gzip.compress, body, _LEVEL)
            # The bytes differ from those of the other form, so a tag is only weak (RFC 9110, 8.8.1).
            tags = [(name, b"W/" + value.removeprefix(b"W/")) for name, value in headers if name == b"etag"]
            others = [each for each in headers if each[0] not in {b"content-length", b"etag"}]
            headers = [*others, *tags, _GZIP, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def unread_body_errors(request: Request) -> Sequence[Mapping[str, Any]]:
    """Return the errors of a body of an operation that has none: it is small, and has no UNSUPPORTED member."""
    body = await request.body()
    if len(body) > MAX_UNREAD:
        message = f"The operation has no body, and ignores one of up to {MAX_UNREAD} bytes: omit it."
        return [{"loc": ("body",), "msg": message, "type": "body_unexpected"}]
    try:
        sent = from_json(body) if body else None
    except ValueError:
        return ()
    found = sorted(filter(_is_unsupported, sent)) if isinstance(sent, dict) else ()
    message, kind = _UNSUPPORTED_ERROR.message(), _UNSUPPORTED_ERROR.type
    return [{"loc": ("body", name), "msg": message, "type": kind} for name in found]


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the members that a model reads."""

    choices: Sequence[Sequence[str]]  # of each member, the published one first
    several: Sequence[Sequence[str]]  # of the members that have more than one
    accepted: frozenset[str]  # all


@lru_cache(maxsize=1024)  # more than there are models
def _names_of(model: type[BaseModel]) -> _Names:
    choices = []
    for name, field in model.model_fields.items():
        alias = field.validation_alias or field.alias or name
        choices.append([str(each) for each in alias.choices] if isinstance(alias, AliasChoices) else [str(alias)])
    several = [each for each in choices if len(each) > 1]
    return _Names(choices, several, frozenset(chain.from_iterable(choices)))


def _refused_members(model: type[Body], sent: Mapping[str, Any]) -> Sequence[InitErrorDetails]:
    """Return the errors of unknown members that the model refuses, and of members that are sent by two names."""
    names = _names_of(model)
    if not names.several and sent.keys() <= names.accepted:
        return ()
    lines = [
        _error(MEMBER_REPEATED, f"`{found[0]}` and `{found[1]}` are one member: send one of them.", found[1])
        for choices in names.several
        if len(found := [each for each in choices if each in sent]) > 1
    ]
    unknown = [name for name in sent if name not in names.accepted]
    if _is_strict(model):
        # A suggestion costs more than all other work on a hostile body, which can have thousands of objects.
        refused = unknown[:MAX_ERRORS]
        return [
            *lines,
            *(_unknown_member(model, name, suggests=at < _MAX_SUGGESTIONS) for at, name in enumerate(refused)),
        ]
    similar = unknown[:_MAX_COMPARED] if model.refuses_similar else ()
    refused = sorted({*filter(_is_unsupported, unknown), *(name for name in similar if _meant(name, model))})
    return [*lines, *(_unknown_member(model, name) for name in refused[:MAX_ERRORS])]


def _kept(line: Any) -> InitErrorDetails:  # an error of pydantic
    """Return the error as one that can be raised again, with its suggestion."""
    context = line.get("ctx", {})
    kept = {"did_you_mean": context["did_you_mean"]} if "did_you_mean" in context else None
    said = PydanticCustomError(line["type"], line["msg"], kept)
    return InitErrorDetails(type=said, loc=line["loc"], input=None)


def _error(kind: str, message: str, name: str, **context: str) -> InitErrorDetails:
    said = PydanticCustomError(kind, message, context or None)  # pyright: ignore[reportArgumentType] - the names in the text are declared members
    return InitErrorDetails(type=said, loc=(name,), input=None)


def _unknown_member(model: type[BaseModel], name: str, *, suggests: bool = True) -> InitErrorDetails:
    """Return the error of a member that the model does not have, with the similar known names."""
    meant = _meant(name, model) if suggests else ()
    if _is_unsupported(name) and _plain(name) not in map(_plain, meant):
        return InitErrorDetails(type=_UNSUPPORTED_ERROR, loc=(name,), input=None)
    suggested = {"did_you_mean": meant[0]} if meant else {}
    return _error(UNKNOWN_FIELD, f"Unknown field.{_hint(meant)}", name, **suggested)


def _hint(meant: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(map(repr, meant))}?" if meant else ""


def _meant(name: str, model: type[BaseModel]) -> Sequence[str]:
    """Return the members of the model that may be meant by another name, the likeliest first.

    They are the one that differs in case and separators only, else those that have the name as one of their words
    (`price` is `renewal_price`), else the one with the closest name.
    """
    if len(name) > _LONGEST_NAME:
        return ()
    known = [choices[0] for choices in _names_of(model).choices]
    plain, word = _plain(name), name.casefold()
    if same := [each for each in known if _plain(each) == plain]:
        return same[:1]
    if len(word) >= _SHORTEST_WORD and (parts := [each for each in known if word in each.split("_")]):
        return parts[:_MAX_MEANT]
    similar = find_similar(name, known)
    return () if similar is None else (similar,)


_HOLDING = (BaseModel, list, tuple, MoneyInput)  # types that can contain a warning


def unknown_fields(body: object, path: str = "") -> Iterator[UnknownField]:
    """Yield the unknown members of a body and of those in it, and the amounts that were sent as numbers."""
    if isinstance(body, MoneyInput) and body.is_number:
        message = f'Send the amount as text, "{body.amount}": a JSON number is not exact.'
        yield UnknownField(field=path[:-1], code="amount_as_number", did_you_mean=None, message=message)
    currency: str | None = body.currency if isinstance(body, MoneyInput) else None
    if isinstance(body, BaseModel):  # the one beside the amounts of a body
        currency = vars(body).get("currency")
    if currency is not None and currency not in CURRENCIES:
        message, similar = UNKNOWN_CURRENCY.format(currency), find_similar(currency, CURRENCIES)
        yield UnknownField(field=f"{path}currency", code="currency_unknown", did_you_mean=similar, message=message)
    if isinstance(body, (list, tuple)):
        for at, each in enumerate(body):
            yield from unknown_fields(each, f"{path}{at}.")
    if not isinstance(body, BaseModel):
        return
    for name in body.model_extra or ():
        meant = _meant(name, type(body))
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        message = f"{shown!r} is not a known field; ignored.{_hint(meant)}"
        yield UnknownField(field=f"{path}{shown}", did_you_mean=next(iter(meant), None), message=message)
    for name, inner in vars(body).items():
        # The check of a class of pydantic is slow, and most members are texts.
        if inner is not None and not isinstance(inner, str) and isinstance(inner, _HOLDING):
            yield from unknown_fields(inner, f"{path}{name}.")


def list_warnings(*sent: object) -> list[UnknownField]:
    """Return the first MAX_WARNINGS unknown members of the bodies."""
    return list(islice(chain.from_iterable(map(unknown_fields, sent)), MAX_WARNINGS))


def add_warnings(reply: WriteReply, *sent: object) -> None:
    """Add the first MAX_WARNINGS unknown members of the bodies to `warnings`."""
    found = list_warnings(*sent)
    if found:  # rare; an assignment to a model is slow
        reply.warnings = [*reply.warnings, *found]
