"""Tools for a portfolio of domains."""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Refused, Result
from builders.mcp_server.selections import added, inside, part, show, taken
from builders.mcp_server.tools import MAX_SHOWN, Arguments, Cursor, Limit, tool

SUMMARY, RENEWALS, DOMAINS = "/v1/portfolio/summary", "/v1/portfolio/renewals", "/v1/portfolio/domains"
IMPORT, RECONCILE = "/v1/portfolio/import", "/v1/portfolio/registrars/reconcile"
PROBLEM = ("code", "message", "field", "did_you_mean")
Day = Annotated[str | None, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class PortfolioSummary(Arguments):
    """Which period and domains."""

    months: Annotated[int | None, Field(ge=1, le=120)] = None
    year: Annotated[int | None, Field(ge=1990, le=2200)] = None
    since: Day = None
    until: Day = None
    tag: str | None = None
    registrar: str | None = None


@tool(
    "Summarize the portfolio",
    Toolset.PORTFOLIO,
    f"GET {SUMMARY}",
    shows=show(
        *("base_currency", "since", "until", "domains"),
        totals=part("totals", *("cost", "income", "sale", "net", "entries", "unconverted")),
        by_tld=part("by_tld", "tld", "domains"),
    ),
)
async def portfolio_summary(api: Calls, asked: PortfolioSummary) -> Result:
    """Sum the cost and income of the domains in a period: months, a year, or from a day to a day."""
    period = {"from": asked.since, "to": asked.until}
    found = await api.read(SUMMARY, asked, **period, since=None, until=None)
    return {**found, "by_tld": found["by_tld"][:MAX_SHOWN]}


class RenewalsDue(Arguments):
    """Until when."""

    within_days: Annotated[int, Field(ge=1, le=365)] = 30
    decision: Literal["renew", "drop", "undecided"] | None = None
    tag: str | None = None
    limit: Limit = MAX_SHOWN
    cursor: Cursor = None


@tool(
    "List renewals due",
    Toolset.PORTFOLIO,
    f"GET {RENEWALS}",
    shows=show(
        "next_cursor",
        renewals=part(
            "items",
            *(
                "domain",
                "domain_id",
                "registrar",
                "expires_at",
                "days_left",
                "auto_renew",
                "renewal_price",
                "decision",
            ),
            untrusted_note=taken("note"),
        ),
        totals=part("totals", *("count", "base", "unconverted", "unknown_price")),
    ),
)
async def renewals_due(api: Calls, asked: RenewalsDue) -> Result:
    """List the domains that expire soon or have expired, with price and decision, and what all of them cost."""
    return await api.read(RENEWALS, asked)


class RankDomains(Arguments):
    """By what."""

    by: Literal["roi", "net", "cost", "income", "renewal_price_base", "expires_at"] = "roi"
    order: Literal["highest", "lowest"] = "lowest"
    tag: str | None = None
    limit: Limit = 5
    cursor: Cursor = None


@tool(
    "Rank domains",
    Toolset.PORTFOLIO,
    f"GET {DOMAINS}",
    shows=show(
        "next_cursor",
        domains=part(
            "items",
            *("domain", "id", "status", "roi", "net", "cost", "income", "renewal_price", "expires_at"),
            untrusted_notes=taken("notes"),
        ),
    ),
)
async def rank_domains(api: Calls, asked: RankDomains) -> Result:
    """Rank the domains by return, net, cost, income, renewal price or expiry: the worst or the best."""
    sort = asked.by if asked.order == "lowest" else f"-{asked.by}"
    return await api.read(DOMAINS, asked, by=None, order=None, sort=sort)


class PreviewTable(Arguments):
    """A table of domains, purchases or sales."""

    csv: Annotated[str, Field(min_length=1, max_length=200_000, description="With a line of headers.")]
    on_conflict: Annotated[Literal["merge", "skip", "overwrite"], Field(description="Of domains that exist.")] = (
        "merge"
    )
    registrar: str | None = None
    currency: Annotated[str | None, Field(pattern="^[A-Z]{3}$", description="Of amounts without one.")] = None
    date_order: Literal["auto", "ymd", "mdy", "dmy"] = "auto"
    mapping: Annotated[dict[str, str] | None, Field(description="Field by header.")] = None

    @property
    def body(self) -> dict[str, Any]:
        """Return the body of the request."""
        body = self.model_dump(exclude_none=True, exclude={"digest", "registrar", "currency"})
        defaults = self.model_dump(exclude_none=True, include={"registrar", "currency"})
        return body | ({"defaults": defaults} if defaults else {})

    @property
    def digest_of_table(self) -> str:
        """Return the digest of what an import would read."""
        return hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()[:32]


@tool(
    "Preview a table",
    Toolset.PORTFOLIO,
    f"POST {IMPORT}/preview",
    shows=show(
        "rows_total",
        digest=added("string"),
        format=taken("detected", "format"),
        columns=part("columns", "field", "dropped", untrusted_header=taken("header")),
        problem=part("problem", *PROBLEM),
        warnings=inside("detected", part("warnings", *PROBLEM)),
        problem_rows=part(
            "problem_rows",
            "line",
            untrusted_cells=taken("cells"),
            errors=part("errors", *PROBLEM),
            warnings=part("warnings", *PROBLEM),
        ),
    ),
    effect=Effect.PROPOSE,
)
async def preview_table(api: Calls, asked: PreviewTable) -> Result:
    """Show how import_table would read a CSV table, with the rows that have problems. Nothing changes."""
    found = (await api.send("POST", f"{IMPORT}/preview", body=asked.body)).body
    digest = asked.digest_of_table
    action = NextAction(
        "Import this table: send the same arguments with `digest`.", "import_table", {"digest": digest}
    )
    actions = [] if found["problem"] else [action]
    return {
        **found,
        "digest": digest,
        "problem_rows": found["problem_rows"][:MAX_SHOWN],
        "next_actions": actions,
    }


class ImportTable(PreviewTable):
    """The table as it was previewed."""

    digest: Annotated[str, Field(description="Of preview_table: another table is refused.")]


@tool(
    "Import a table",
    Toolset.PORTFOLIO,
    f"POST {IMPORT}",
    shows=show(
        *("import_id", "state", "rows_total", "rows_done", "summary", "undo_until"),
        failed_rows=part("results", "outcome", "line", "domain", errors=part("errors", *PROBLEM)),
    ),
    effect=Effect.WRITE,
)
async def import_table(api: Calls, asked: ImportTable) -> Result:
    """Import a table that preview_table has shown: the same arguments with its digest. It can be undone."""
    if asked.digest != asked.digest_of_table:
        again = NextAction("Preview the table that you want to import.", "preview_table")
        raise Refused("preview_mismatch", "The digest is not that of this table with these options.", again)
    found = (await api.send("POST", IMPORT, body=asked.body)).body
    failed = [each for each in found["results"] if each["outcome"] == "error"]
    return {**found, "results": failed[:MAX_SHOWN]}


class Reconcile(Arguments):
    """Which differences."""

    provider: Annotated[str | None, Field(description="A registrar, such as `porkbun`.")] = None
    min_severity: Literal["info", "warn", "high", "critical"] | None = None
    limit: Limit = MAX_SHOWN
    cursor: Cursor = None


@tool(
    "Compare with registrars",
    Toolset.PORTFOLIO,
    f"GET {RECONCILE}",
    shows=show(
        "next_cursor",
        differences=part(
            "findings",
            *("category", "severity", "domain", "provider", "message", "suggested_action"),
            untrusted_in_portfolio=taken("portfolio_value"),
            untrusted_at_registrar=taken("registrar_value"),
        ),
        compared=taken("summary", "compared"),
        not_checked=part("not_checked", "provider", "reason"),
    ),
)
async def reconcile(api: Calls, asked: Reconcile) -> Result:
    """Compare the portfolio with the last listings of its registrars: what differs, and what was not checked."""
    return await api.read(RECONCILE, asked)
