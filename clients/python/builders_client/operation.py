"""An operation of the service, as the client sends it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

JSON = "application/json"


class Operation(NamedTuple):
    """An operation of the OpenAPI document; `generated.operations` has all."""

    id: str
    """`operationId` of the document."""
    tag: str
    """The attribute of the client, such as `projects`."""
    name: str
    """The method of the attribute."""
    method: str
    path: str
    scope: str | None = None
    """The scope that the API key needs."""
    required: tuple[str, ...] = ()
    """The members without which a body is incomplete."""
    keyed: bool = False
    """It accepts an Idempotency-Key."""
    live: bool = False
    """The service can refuse a test key."""
    public: bool = False
    """It needs no credentials."""
    portfolio: bool = False
    """It can act on the portfolio of another account."""
    form: bool = False
    """The body is a form."""
    replies: Mapping[int, tuple[str, ...]] = MappingProxyType({200: (JSON,)})
    """The media types of each status that is a success; none for a reply without content."""
