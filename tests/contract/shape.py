"""The words in which the endpoint tables of the specification are written down as data."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum


class Auth(StrEnum):
    """How an operation meets credentials."""

    PUBLIC = "public"  # lists none of the three forms
    ACCEPTED = "accepted"  # lists them, needs none: a token or grant in the request is the proof
    AUTH = "AUTH"  # lists them and needs one
    KEY = "key"  # as AUTH; the specification's examples use X-API-Key


class Body(StrEnum):
    """Whether a request carries a JSON body."""

    ABSENT = "absent"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """A parameter as OpenAPI shows it; None is a bound, format or default that the table does not give."""

    name: str
    where: str = "query"  # "query" or "path"
    type: str = "string"
    required: bool = False
    default: str | int | bool | None = None
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row of an endpoint table."""

    method: str
    path: str
    params: tuple[Param, ...]
    status: int = 200
    body: Body = Body.ABSENT
    schema: str | None = None  # the request type's name, where the table gives one
    auth: Auth = Auth.AUTH
    scope: str | None = None  # where the specification names one
    area: str = ""

    @property
    def name(self) -> str:
        """The operation as people say it: `GET /livez`."""
        return f"{self.method} {self.path}"


def query(
    name: str,
    kind: str = "string",
    *,
    required: bool = False,
    default: str | int | bool | None = None,
    low: int | None = None,
    high: int | None = None,
    length: int | None = None,
) -> Param:
    """A query parameter with the bounds of its table row."""
    return Param(
        name=name, type=kind, required=required, default=default, minimum=low, maximum=high, min_length=length
    )


def row(
    method_and_path: str,
    *params: Param,
    status: int = 200,
    body: str | Body = Body.ABSENT,
    auth: Auth | None = None,
    scope: str | None = None,
) -> Operation:
    """A table row; path parameters are plain strings unless given, a named body is a required one."""
    method, path = method_and_path.split()
    given = {param.name for param in params}
    in_path = tuple(
        Param(name=name, where="path", required=True)
        for name in re.findall(r"\{(\w+)\}", path)
        if name not in given
    )
    known = body if isinstance(body, Body) else Body.REQUIRED
    return Operation(
        method=method,
        path=path,
        params=in_path + params,
        status=status,
        body=known,
        schema=None if isinstance(body, Body) else body,
        auth=auth or Auth.AUTH,
        scope=scope,
    )


def area(name: str, *rows: Operation, auth: Auth | None = None) -> tuple[Operation, ...]:
    """The rows of one table, all with the table's own kind of credentials when one is given."""
    return tuple(replace(each, area=name, auth=auth or each.auth) for each in rows)
