"""Tools for names and what they cost."""

from typing import Annotated, Literal

from pydantic import Field

from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, Result
from builders.mcp_server.selections import part, show, taken
from builders.mcp_server.tools import MAX_SHOWN, Arguments, Cursor, Limit, tool

SUGGEST, NAMES, INVOICES = "/v1/catalog/suggest", "/v1/aliases", "/v1/invoices"
MAX_SUGGESTED = 24  # as GET /v1/catalog/suggest returns


class FindNames(Arguments):
    """What to look for."""

    words: Annotated[str, Field(min_length=1, max_length=100, description="A name, a topic, or a full address.")]
    max_price: Annotated[
        str | None, Field(pattern=r"^\d{1,9}(\.\d{1,2})?$", description="Per interval, such as 20.00.")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_SUGGESTED)] = 10


@tool(
    "Search names",
    Toolset.NAMES,
    f"GET {SUGGEST}",
    shows=show(
        names=part(
            "items",
            "address",
            "score",
            price=part("price", "amount", "currency"),
            interval=taken("price", "interval"),
        )
    ),
)
async def search_names(api: Calls, asked: FindNames) -> Result:
    """Search names (email addresses) that can be claimed now, with prices. To claim one, call make_plan."""
    answer = await api.get(SUGGEST, q=asked.words, limit=MAX_SUGGESTED if asked.max_price else asked.limit)
    bound = None if asked.max_price is None else float(asked.max_price)
    items = [
        each
        for each in answer["items"]
        if each["available"] and (bound is None or float(each["price"]["amount"]) <= bound)
    ]
    return {"items": items[: asked.limit]}


class ListNames(Arguments):
    """Which names."""

    containing: Annotated[str | None, Field(max_length=100, description="Part of the address.")] = None
    domain: str | None = None
    status: Literal["active", "disabled", "suspended", "deleted"] | None = None
    limit: Limit = MAX_SHOWN
    cursor: Cursor = None


@tool(
    "List names",
    Toolset.NAMES,
    f"GET {NAMES}",
    shows=show(
        "next_cursor",
        names=part(
            "items",
            *("id", "address", "status", "price", "renews_at", "project_id"),
            destinations=part("destinations", "email", "verified"),
            untrusted_note=taken("note"),
        ),
    ),
)
async def list_names(api: Calls, asked: ListNames) -> Result:
    """List the claimed names of the account, newest first, with destinations, price and renewal."""
    return await api.read(NAMES, asked, q=asked.containing, containing=None)


class ListInvoices(Arguments):
    """Which invoices."""

    status: Literal["open", "paid", "void", "uncollectible"] | None = None
    limit: Limit = 10
    cursor: Cursor = None


@tool(
    "List invoices",
    Toolset.MONEY,
    f"GET {INVOICES}",
    shows=show(
        "next_cursor",
        invoices=part(
            "items", *("id", "number", "status", "total", "amount_due", "due_at", "overdue", "promotion_id")
        ),
    ),
)
async def list_invoices(api: Calls, asked: ListInvoices) -> Result:
    """List invoices for names, newest first. A person pays them."""
    return await api.read(INVOICES, asked)
