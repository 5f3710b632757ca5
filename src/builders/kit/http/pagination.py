"""Pages of a list: keyset paging with opaque, signed cursors, so that every page costs the same.

A cursor holds the sort values of the last row of a page and is valid only for its list. It is unpadded base64url
of a signature and compact JSON: the epoch of the database (kit/db/restores.py), and the values.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.db.restores import Known
from builders.kit.errors import Invalid, Problem
from builders.kit.http.bodies import Reply
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import ids

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
CLAMPED_MAX = 1000  # of a list whose limit is clamped
MAX_CURSOR_LENGTH = 1024  # characters
_CURSOR_PURPOSE = "cursor"
_SIGNATURE_SIZE = 20  # bytes
_OF_A_PAGE = {"limit", "cursor", "include_total"}  # parameters that do not change which items the list has

T = TypeVar("T")


class CursorExpired(Problem):
    """The cursor has expired."""

    status, code = 410, "cursor_expired"
    default_detail = "The service was restored from a backup since: what this cursor follows may not exist."
    remedy = "Repeat the request without cursor; reconcile your stored data with the lists of this API."


# Schemas of the OpenAPI document.
Cursor = Annotated[str, Field(title="PageCursor")]
NextCursor = Annotated[str | None, Field(title="NextCursor")]
SortKey = Sequence[str | int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonPage:
    """A page whose items PostgreSQL wrote as JSON (measured: half the cost of records)."""

    items: str  # a JSON array
    next_cursor: str | None

    def json(self) -> bytes:
        """Return the JSON of the reply; a cursor is base64url and needs no escapes."""
        cursor = "null" if self.next_cursor is None else f'"{self.next_cursor}"'
        return f'{{"items":{self.items},"next_cursor":{cursor}}}'.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPage(JsonPage):
    """A page as JSON, with the number of all items if the request asks for it."""

    total: int | None

    def json(self) -> bytes:
        """Return the JSON of the reply."""
        total = b"null" if self.total is None else b"%d" % self.total
        return JsonPage.json(self).removesuffix(b"}") + b',"total":' + total + b"}"


def _describe(schema: JsonDict, model: type[BaseModel]) -> None:
    """Add the description of the generic model, which pydantic does not copy."""
    schema["description"] = model.__mro__[1].__doc__


class PageReply(Reply, Generic[T]):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    model_config = ConfigDict(json_schema_extra=_describe)

    items: Annotated[list[T], Field(description="The items of this page.")]
    next_cursor: NextCursor


class CountedPageReply(PageReply[T]):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    total: Annotated[
        int | None, Field(description="Number of items on all pages; null unless `include_total` is true.")
    ]


def _unsigned(_: SortKey) -> str:
    raise ValueError("this page has no cursors")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """The requested page: up to `limit` items after the key `after` (None: from the start)."""

    limit: int = DEFAULT_LIMIT
    after: tuple[str | int | None, ...] | None = None
    seal: Callable[[SortKey], str] = _unsigned

    @property
    def before_id(self) -> UUID:
        """Return the id that the page begins below, for a list of ids with the newest first."""
        return UUID(str(self.after[0])) if self.after else ids.LAST

    def position(self, *kinds: Callable[[str], Any]) -> tuple[Any, ...] | None:
        """Return the values of the cursor, each as one of these reads its text; None for the first page."""
        if self.after is None:
            return None
        return tuple(kind(str(value)) for kind, value in zip(kinds, self.after, strict=True))

    def cut(self, rows: Sequence[T], key: Callable[[T], SortKey]) -> Page[T]:
        """Return a page from `limit + 1` rows: the additional row shows that more follow."""
        if len(rows) <= self.limit:
            return Page(items=rows, next_cursor=None)
        items = rows[: self.limit]
        return Page(items=items, next_cursor=self.seal(key(items[-1])))


_Limit = Annotated[
    int | None, Query(ge=1, le=MAX_LIMIT, description=f"Items on a page; {DEFAULT_LIMIT} by default.")
]
IncludeTotal = Annotated[
    bool, Query(description="Count the items of all pages in `total`. It may differ from page to page.")
]
_Cursor = Annotated[Cursor | None, Query(description="`next_cursor` of the page before.")]
_LongLimit = Annotated[
    int | None, Query(ge=1, le=MAX_LIMIT, description=f"Items on a page; {MAX_LIMIT} by default.")
]
_CLAMPED = f"Items on a page; less than 1 counts as 1, more than {CLAMPED_MAX:,} as {CLAMPED_MAX:,}."
_Position = Annotated[
    Cursor | None, Query(description="`resume_cursor` of the previous reply; it is valid for every filter.")
]


async def page_request(request: Request, limit: _Limit = None, cursor: _Cursor = None) -> PageRequest:
    """Return the page that the query requests. A cursor is valid for its account, path and filters.

    Raise Invalid for a foreign or altered cursor, CursorExpired.
    """
    others = sorted(pair for pair in request.query_params.multi_items() if pair[0] not in _OF_A_PAGE)
    return await _page(request, limit, cursor, filters=others)


async def long_page_request(request: Request, limit: _LongLimit = None, cursor: _Cursor = None) -> PageRequest:
    """Return the page that the query requests, for a list that clients read completely (by default MAX_LIMIT).

    Raise Invalid for a foreign or altered cursor, CursorExpired.
    """
    return await page_request(request, limit or MAX_LIMIT, cursor)


async def clamped_request(
    request: Request, limit: Annotated[int, Query(description=_CLAMPED)] = 200, cursor: _Cursor = None
) -> PageRequest:
    """Return the page that the query requests, for a list whose limit has no bounds in the specification.

    Raise Invalid for a foreign or altered cursor, CursorExpired.
    """
    return await page_request(request, min(max(limit, 1), CLAMPED_MAX), cursor)


async def feed_request(request: Request, limit: _Limit = None, cursor: _Position = None) -> PageRequest:
    """Return the part of a feed that the query requests; a cursor is a position and is valid with any filters.

    Raise Invalid for a foreign or altered cursor, CursorExpired.
    """
    return await _page(request, limit, cursor, filters=())


async def _page(
    request: Request, limit: int | None, cursor: str | None, *, filters: Sequence[object]
) -> PageRequest:
    keyring = request.app.state.keyring
    restores: Known | None = getattr(request.app.state, "restores", None)
    epoch = 0 if restores is None else (await restores.read()).epoch
    scope = f"{request.scope.get('account_id')} {request.scope['path']} {filters}"
    return PageRequest(
        limit=limit or DEFAULT_LIMIT,
        after=None if cursor is None else decode_cursor(keyring, scope=scope, text=cursor, epoch=epoch),
        seal=partial(encode_cursor, keyring, scope=scope, epoch=epoch),
    )


PageQuery = Annotated[PageRequest, Depends(page_request)]
LongPageQuery = Annotated[PageRequest, Depends(long_page_request)]
ClampedPageQuery = Annotated[PageRequest, Depends(clamped_request)]
FeedQuery = Annotated[PageRequest, Depends(feed_request)]


class Listing(BaseModel, Generic[T]):
    """A short list that needs no pages."""

    model_config = ConfigDict(json_schema_extra=_describe)

    items: Annotated[list[T], Field(description="All items.")]


def encode_cursor(keyring: Keyring, values: SortKey, *, scope: str, epoch: int = 0) -> str:
    """Return the cursor after the row with these sort values; `scope` names the list, its filters and its owner.

    Raise ValueError when the cursor would be longer than `decode_cursor` accepts.
    """
    body = json.dumps([epoch, *values], separators=(",", ":")).encode()
    signature = keyring.sign(_CURSOR_PURPOSE, json.dumps(scope).encode() + body)
    text = urlsafe_b64encode(signature + body).rstrip(b"=").decode("ascii")
    if len(text) > MAX_CURSOR_LENGTH:
        raise ValueError(f"A cursor has at most {MAX_CURSOR_LENGTH} characters; these values need {len(text)}.")
    return text


def decode_cursor(keyring: Keyring, *, scope: str, text: str, epoch: int = 0) -> tuple[str | int | None, ...]:
    """Return the values that `encode_cursor` wrote for this scope and epoch.

    Raise CursorExpired for another epoch, and Invalid for any other text.
    """
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4)) if len(text) <= MAX_CURSOR_LENGTH else b""
    except ValueError:
        raw = b""
    signature, body = raw[:_SIGNATURE_SIZE], raw[_SIGNATURE_SIZE:]
    # Base64 ignores invalid characters and unused bits; a cursor has exactly one spelling.
    is_spelled = urlsafe_b64encode(raw).rstrip(b"=").decode("ascii") == text
    if not is_spelled or not keyring.verify(_CURSOR_PURPOSE, json.dumps(scope).encode() + body, signature):
        message = "The cursor does not belong to this list; start again without it."
        raise Invalid(("query", "cursor"), message, "cursor_invalid")
    found, *values = json.loads(body)
    if found != epoch:
        raise CursorExpired
    return tuple(values)
