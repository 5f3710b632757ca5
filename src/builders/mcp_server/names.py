"""Tools for names and what they cost."""

from typing import Annotated, Literal

from pydantic import Field

from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls
from builders.mcp_server.tools import (
    MAX_SHOWN,
    Amount,
    Arguments,
    Cursor,
    Limit,
    Reply,
    Result,
    Untrusted,
    tool,
    untrusted,
)

MAX_SUGGESTED = 24  # as GET /v1/catalog/suggest returns


class FindNames(Arguments):
    """What to look for."""

    words: Annotated[str, Field(min_length=1, max_length=100, description="A name, a topic, or a full address.")]
    max_price: Annotated[
        str | None, Field(pattern=r"^\d{1,9}(\.\d{1,2})?$", description="Per interval, such as 20.00.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_SUGGESTED)] = 10


class FoundName(Reply):
    """A name that can be claimed."""

    address: str
    price: Amount
    score: int


class FoundNames(Result):
    """Names that can be claimed, the best first."""

    names: list[FoundName]


@tool("Search names", Toolset.NAMES, "GET /v1/catalog/suggest")
async def search_names(api: Calls, asked: FindNames) -> FoundNames:
    """Search names (email addresses) that can be claimed now, with prices. To claim one, call make_plan."""
    answer = await api.get(
        "/v1/catalog/suggest", q=asked.words, limit=MAX_SUGGESTED if asked.max_price else asked.limit
    )
    bound = None if asked.max_price is None else float(asked.max_price)
    items = [
        each
        for each in answer["items"]
        if each["available"] and (bound is None or float(each["price"]["amount"]) <= bound)
    ]
    return FoundNames.model_validate({"names": items[: asked.limit]})


class ListNames(Arguments):
    """Which names."""

    containing: Annotated[str | None, Field(max_length=100, description="Part of the address.")] = None
    domain: str | None = None
    status: Literal["active", "disabled", "suspended", "deleted"] | None = None
    limit: Limit = MAX_SHOWN
    cursor: Cursor = None


class Destination(Reply):
    """Where mail goes."""

    email: str
    verified: bool | None = None


class OwnName(Reply):
    """A claimed name."""

    id: str
    address: str
    status: str
    destinations: list[Destination]
    price: Amount | None = None
    renews_at: str | None = None
    project_id: str | None = None
    untrusted_note: Untrusted | None = untrusted("note")


class OwnNames(Result):
    """The names of the account."""

    names: list[OwnName]
    next_cursor: str | None = None


@tool("List names", Toolset.NAMES, "GET /v1/aliases")
async def list_names(api: Calls, asked: ListNames) -> OwnNames:
    """List the claimed names of the account, newest first, with destinations, price and renewal."""
    query = {"q": asked.containing, "domain": asked.domain, "status": asked.status}
    answer = await api.get("/v1/aliases", **query, limit=asked.limit, cursor=asked.cursor)
    return OwnNames.model_validate({"names": answer["items"], "next_cursor": answer["next_cursor"]})


class ListInvoices(Arguments):
    """Which invoices."""

    status: Literal["open", "paid", "void", "uncollectible"] | None = None
    limit: Limit = 10
    cursor: Cursor = None


class Invoice(Reply):
    """An invoice."""

    id: str
    number: str | None = None
    status: str
    total: Amount
    amount_due: Amount
    due_at: str | None = None
    overdue: bool
    promotion_id: str | None = None


class Invoices(Result):
    """Invoices of the account."""

    invoices: list[Invoice]
    next_cursor: str | None = None


@tool("List invoices", Toolset.MONEY, "GET /v1/invoices")
async def list_invoices(api: Calls, asked: ListInvoices) -> Invoices:
    """List invoices for names, newest first. A person pays them."""
    answer = await api.get("/v1/invoices", status=asked.status, limit=asked.limit, cursor=asked.cursor)
    return Invoices.model_validate({"invoices": answer["items"], "next_cursor": answer["next_cursor"]})
