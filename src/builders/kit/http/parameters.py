"""The declared parameters of a handler, with a fast path for plain and valid values.

A plain parameter is read from one text of the path or the query (a number, a date, a word of an enum, with any
constraints), or is an optional text of a header. FastAPI's own parser reads all others (a cookie, a list, a model)
and every invalid value, so errors and rare cases are FastAPI's.
tests/kit/http/test_routes.py compares both ways; test_plain_parameters.py lists the operations that have others.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin
from urllib.parse import unquote
from uuid import UUID

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_params_to_args
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticUndefined, core_schema

from builders.kit.errors import MAX_ERRORS, Problem, Refuses
from builders.kit.marks import Mark
from builders.kit.values import ids
from builders.kit.values.suggestions import find_similar


@dataclass(frozen=True, slots=True)
class ResourceId:
    """Mark a path parameter as the id of a resource: `Annotated[UUID, Path(...), ResourceId(ProjectNotFound)]`.

    In the OpenAPI document the parameter is a plain string. The compiled route raises the refusal once it has read
    the whole request: a 422 or a 403 comes first, as for an unknown id.
    """

    refusal: type[Problem]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a text as an id; NIL for a malformed one, which the route refuses later."""
        del source, handler
        return core_schema.no_info_after_validator_function(ids.parse, core_schema.str_schema())


Values = dict[str, Any]  # the arguments of a handler, of any type
Field = Any  # FastAPI's ModelField, which has no public type

Error = Mapping[str, Any]  # in pydantic's form

opened_by_link = Mark()  # the operation takes any parameters
UNKNOWN_PARAMETER, REPEATED_PARAMETER = "parameter_unknown", "parameter_repeated"
_QUERY = "query_parameters"  # key of the ASGI scope: the parsed query string
_PLACES = {"path": "path_params", "query": "query_params", "header": "headers", "cookie": "cookies"}
_NOT_READ_FROM_ONE_TEXT = (list, set, frozenset, tuple, BaseModel)


class _Plain(NamedTuple):
    """A parameter that is read directly."""

    place: str  # the attribute of a request
    name: str
    alias: str
    validate: Callable[[str], tuple[Any, Sequence[Any]]]  # the value and its error
    default: Any  # PydanticUndefined when there is none


class Parameters:
    """The parameters of a handler or of a dependency."""

    def __init__(self, dependant: Dependant) -> None:
        places = [(getattr(dependant, f"{place}_params"), attribute) for place, attribute in _PLACES.items()]
        self._fields = [(fields, attribute) for fields, attribute in places if fields]
        self.are_any = bool(self._fields)
        self.query_names = frozenset(each.validation_alias or each.alias for each in dependant.query_params)
        self.repeatable = frozenset(
            each.validation_alias or each.alias
            for each in dependant.query_params
            for kind in (each.field_info.annotation, *get_args(each.field_info.annotation))
            if get_origin(kind) is list
        )
        self.is_plain = all(
            place != "cookies" and all(_is_plain(each, is_header=place == "headers") for each in fields)
            for fields, place in self._fields
        )
        self._plain = [_plain(each, place) for fields, place in self._fields for each in fields if self.is_plain]
        # The names of ids in the handler and in the path, and the 404 for a malformed one.
        found = [(each.name, each.alias, _resource_id(each)) for each in dependant.path_params]
        self.resource_ids = [(name, alias, mark.refusal) for name, alias, mark in found if mark is not None]
        marks = [mark for fields, _ in self._fields for each in fields for mark in each.field_info.metadata]
        self.refusals = [each.refusal for each in marks if isinstance(each, ResourceId | Refuses)]

    def read(self, request: Request, values: Values) -> Sequence[Any]:
        """Add the values by parameter name; return the errors in pydantic's form."""
        at = ""
        sent: Mapping[str, str] = {}
        for place, name, alias, validate, default in self._plain:
            if place != at and place == "query_params":
                sent = query_parameters(request) if request.scope["query_string"] else {}
            elif place != at:
                sent = getattr(request, place)
            at = place
            text = sent.get(alias)
            if text is None and default is not PydanticUndefined:
                values[name] = default
                continue
            values[name], wrong = validate(text) if text is not None else (None, ("missing",))
            if wrong:
                break
        else:
            if self.is_plain:
                return ()
        errors: list[Any] = []
        for fields, attribute in self._fields:
            found, wrong = request_params_to_args(fields, getattr(request, attribute))
            values.update(found)
            errors += wrong
        return errors


def query_parameters(request: Request) -> dict[str, str]:
    """Return the query parameters as Starlette's `query_params`, at half the cost; the last duplicate counts."""
    scope = request.scope
    sent: dict[str, str] | None = scope.get(_QUERY)
    if sent is None:
        query = scope["query_string"].decode("latin-1").replace("+", " ")
        pairs = (pair.partition("=") for pair in query.split("&") if pair)
        sent = scope[_QUERY] = {unquote(name): unquote(value) for name, _, value in pairs}
    return sent


def query_errors(request: Request, known: frozenset[str], repeatable: Collection[str]) -> Sequence[Error]:
    """Return the first errors of query parameters that are unknown, or sent twice and not `repeatable`."""
    errors: list[Error] = []
    for name in query_parameters(request):
        if name not in known:
            meant = find_similar(name, known)
            hint = f"Did you mean {meant!r}?" if meant else f"Known: {', '.join(sorted(known)) or 'none'}."
            error = {"loc": ("query", name), "msg": f"Unknown query parameter. {hint}", "type": UNKNOWN_PARAMETER}
            errors.append(error | ({"did_you_mean": meant} if meant else {}))
        elif name not in repeatable and len(request.query_params.getlist(name)) > 1:
            message = "The parameter takes one value: send it once."
            errors.append({"loc": ("query", name), "msg": message, "type": REPEATED_PARAMETER})
        if len(errors) == MAX_ERRORS:
            break
    return errors


def _is_plain(field: Field, *, is_header: bool) -> bool:
    info, annotation = field.field_info, field.field_info.annotation
    if is_header and (annotation != (str | None) or info.metadata):
        return False
    return (
        _is_read_from_one_text(annotation)
        and isinstance(info.validation_alias, str | None)
        and info.default_factory is None
        and not info.validate_default
        and field.config is None
    )


def _is_read_from_one_text(annotation: Any) -> bool:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_read_from_one_text(arguments[0])
    if origin in {Union, UnionType}:
        return all(map(_is_read_from_one_text, arguments))
    kind = origin or annotation
    return not (isinstance(kind, type) and issubclass(kind, _NOT_READ_FROM_ONE_TEXT))


def _resource_id(field: Field) -> ResourceId | None:
    return next((each for each in field.field_info.metadata if isinstance(each, ResourceId)), None)


def _plain(field: Field, place: str) -> _Plain:
    is_any_text = field.field_info.annotation is str and all(
        isinstance(each, Refuses) for each in field.field_info.metadata
    )
    validate = _as_it_is if is_any_text else _as_id if _resource_id(field) is not None else field.validate
    return _Plain(place, field.name, field.validation_alias or field.alias, validate, field.get_default())


def _as_it_is(text: str) -> tuple[str, Sequence[Any]]:
    """Return the text with no errors, as pydantic does for a `str` without constraints."""
    return text, ()


def _as_id(text: str) -> tuple[UUID, Sequence[Any]]:
    return ids.parse(text), ()


# What FastAPI would inject and a compiled handler does not get.
_UNKNOWN = ("response", "background_tasks", "security_scopes", "http_connection", "websocket")


def require_supported(path: str, dependant: Dependant) -> None:
    """Raise TypeError for a parameter that only FastAPI itself would supply."""
    for what in _UNKNOWN:
        if getattr(dependant, f"{what}_param_name"):
            raise TypeError(f"{path}: the parameter for {what} cannot be compiled")
