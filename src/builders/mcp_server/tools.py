"""What a tool is: strict arguments, a typed result, one effect, and the operations that it uses."""

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.kit.values.suggestions import find_similar
from builders.mcp_server.calls import MAX_ERRORS, Calls, Refused

MAX_TEXT = 500  # characters of a text that others wrote
MAX_LONG = 6_000  # characters of the text of a mail
MAX_JSON = 2_000  # characters of JSON with such texts
MAX_SHOWN = 20  # items of a list
_BLANK = {"\n", "\t"}


class Arguments(BaseModel):
    """The arguments of a tool: unknown and mistyped ones are refused, because a misspelt limit would be none."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Reply(BaseModel):
    """The members of an answer of the API that a tool shows; the others are left out."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Result(Reply):
    """What a tool returns."""

    next_actions: list[dict[str, Any]] = Field(default_factory=list)
    replayed: bool | None = None


def as_data(text: str, *, longest: int = MAX_TEXT) -> str:
    """Return a text of somebody else cut, and without characters that are invisible or change its direction."""
    shown = "".join(map(_escape, text[:longest]))
    return shown if len(text) <= longest else f"{shown}… (cut)"


def _escape(character: str) -> str:
    is_seen = character in _BLANK or unicodedata.category(character)[0] != "C"
    return character if is_seen else f"\\u{{{ord(character):x}}}"


def visible(value: Any) -> Any:  # JSON
    """Return JSON whose texts are cut and escaped."""
    if isinstance(value, str):
        return as_data(value, longest=MAX_JSON)
    if isinstance(value, Mapping):
        return {as_data(name): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, list) else value


def _json_as_data(value: object) -> object:
    return value if isinstance(value, str) else as_data(json.dumps(value, ensure_ascii=False), longest=MAX_JSON)


def _amount(value: object) -> object:
    """Return an amount, or a price with its interval, as one short text."""
    if not isinstance(value, Mapping):
        return value
    interval = value.get("interval")
    return f"{value['amount']} {value['currency']}" + (f" per {interval}" if interval else "")


# A text that others wrote; the name of such a member begins with `untrusted_`.
Untrusted = Annotated[str, BeforeValidator(lambda value: as_data(value) if isinstance(value, str) else value)]
LongText = Annotated[str, BeforeValidator(lambda value: as_data(value, longest=MAX_LONG))]
UntrustedJson = Annotated[str, BeforeValidator(_json_as_data)]
Amount = Annotated[str, BeforeValidator(_amount)]
Limit = Annotated[int, Field(ge=1, le=50, description="Items.")]
Cursor = Annotated[str | None, Field(description="`next_cursor` of the previous answer.")]
Attempt = Annotated[int, Field(ge=1, description="The same call has one effect in a day; count up to repeat.")]
ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def untrusted(name: str, default: Any = None) -> Any:  # the type of the member
    """Return a field whose value has another name in the API."""
    return Field(default, validation_alias=name)


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool of /mcp."""

    name: str
    title: str
    description: str
    toolset: Toolset
    effect: Effect
    uses: tuple[tuple[str, str], ...]  # method and path of the operations; a credential that may send one sees it
    arguments: type[Arguments]
    run: Callable[[Calls, Any], Awaitable[Result]]  # with its own class of arguments
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]

    def is_seen(self, api: Calls) -> bool:
        """Return whether the credential may use the tool."""
        try:
            api.require(self.toolset, self.effect)
        except Refused:
            return False
        return not self.uses or api.allows(*self.uses)

    def read(self, sent: Mapping[str, Any] | None) -> Arguments:
        """Return the arguments. Raise Refused, which names each wrong one and quotes no value."""
        try:
            return self.arguments.model_validate_json(json.dumps(sent or {}))
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False, include_context=False)
        known = self.arguments.model_fields
        errors = []
        for each in found[:MAX_ERRORS]:
            name = ".".join(map(str, each["loc"]))
            similar = find_similar(name, known, cutoff=0.6) if each["type"] == "extra_forbidden" else None
            hint = {} if similar is None else {"did_you_mean": similar}
            errors.append({"member": name, "reason": each["msg"], **hint})
        raise Refused("arguments_invalid", "The tool was not called: correct the arguments.", errors=errors)


Run = Callable[[Calls, ArgumentsT], Awaitable[Result]]


def tool(
    title: str, toolset: Toolset, *uses: str, effect: Effect = Effect.READ
) -> Callable[[Run[ArgumentsT]], Tool]:
    """Return a decorator that makes a tool of a function: name, description, arguments and result are its own."""

    def make(run: Run[ArgumentsT]) -> Tool:
        hints = get_type_hints(run)
        arguments, reply = hints["asked"], hints["return"]
        return Tool(
            name=run.__name__,
            title=title,
            description=" ".join((run.__doc__ or "").split()),
            toolset=toolset,
            effect=effect,
            uses=tuple((method, path) for method, _, path in (each.partition(" ") for each in uses)),
            arguments=arguments,
            run=run,
            input_schema=compact(arguments.model_json_schema()),
            output_schema=outline(compact(reply.model_json_schema(mode="serialization"))),
        )

    return make


def compact(schema: Any) -> Any:  # a JSON schema or a part of it
    """Return the schema without titles, docstrings of classes, defaults, and the null of what can be left out."""
    if isinstance(schema, list):
        return [compact(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    variants = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if schema.get("default", "") is None and len(variants) == 1:
        return compact({**variants[0], **{k: v for k, v in schema.items() if k not in {"anyOf", "default"}}})
    kept = {}
    for name, value in schema.items():
        if name in {"properties", "$defs"}:
            kept[name] = {each: compact(part) for each, part in value.items()}
        elif name in {"title", "default"} or value is True or (name == "description" and "properties" in schema):
            continue
        else:
            kept[name] = compact(value)
    return kept


def outline(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a result with its own members; those of its rows are seen in the result."""
    found: dict[str, Any] = json.loads(_REFERENCE.sub(r'{"type": "object"}', json.dumps(schema)))
    found.pop("$defs", None)
    return found


_REFERENCE = re.compile(r'\{"\$ref": "[^"]*"\}')


def named(text: str) -> str:
    """Return a text as a key of a manifest."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def shown(reply: Result) -> dict[str, Any]:
    """Return the result as JSON, without what is unknown."""
    return reply.model_dump(mode="json", exclude_none=True)
