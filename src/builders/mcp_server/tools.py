"""What a tool is: strict arguments, a typed result, one effect, and the operations that it uses."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from builders.kit.effects import Effect
from builders.kit.http.media_types import JSON
from builders.kit.mandates import Toolset
from builders.kit.values.suggestions import find_similar
from builders.mcp_server.calls import MAX_ERRORS, Calls, Refused, Result, refuse_arguments
from builders.mcp_server.selections import Json, Member, added, schema_of, select, show

MAX_SHOWN = 20  # items of a list
_OF_EVERY = show(next_actions=added("array"), replayed=added("boolean"))


class Arguments(BaseModel):
    """The arguments of a tool: unknown and mistyped ones are refused, because a misspelt limit would be none."""

    model_config = ConfigDict(strict=True, extra="forbid")


Limit = Annotated[int, Field(ge=1, le=50, description="Items.")]
Cursor = Annotated[str | None, Field(description="`next_cursor` of the previous answer.")]
Attempt = Annotated[int, Field(ge=1, description="The same call has one effect in a day; count up to repeat.")]
ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)
Run = Callable[[Calls, ArgumentsT], Awaitable[Result]]


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
    shows: Sequence[Member]  # of the answer of the first operation
    input_schema: dict[str, Any]

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
        raise refuse_arguments("The tool was not called: its arguments are wrong.", errors=errors)

    def output_schema(self, document: Json) -> dict[str, Json]:
        """Return the schema of the result, of the API's document: that of its own members, not of their rows."""
        found: Json = {}
        if self.uses:
            method, path = self.uses[0]
            answers = document["paths"][path][method.lower()]["responses"]
            found = next(each for code, each in answers.items() if code in _SUCCESS)["content"][JSON]["schema"]
        return schema_of(self.shows, document, found)

    def shown(self, result: Result) -> dict[str, Json]:
        """Return what is shown of a result."""
        found: dict[str, Json] = select(self.shows, result)
        return found


_SUCCESS = frozenset(("200", "201", "202"))


def tool(
    title: str, toolset: Toolset, *uses: str, shows: Sequence[Member], effect: Effect = Effect.READ
) -> Callable[[Run[ArgumentsT]], Tool]:
    """Return a decorator that makes a tool of a function: its name, description and arguments are its own.

    `shows` selects the members of its result (selections.py), of the answer of the first operation that it uses.
    """

    def make(run: Run[ArgumentsT]) -> Tool:
        arguments = get_type_hints(run)["asked"]
        return Tool(
            name=run.__name__,
            title=title,
            description=" ".join((run.__doc__ or "").split()),
            toolset=toolset,
            effect=effect,
            uses=tuple((method, path) for method, _, path in (each.partition(" ") for each in uses)),
            arguments=arguments,
            run=run,
            shows=[*shows, *_OF_EVERY],
            input_schema=compact(arguments.model_json_schema()),
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
