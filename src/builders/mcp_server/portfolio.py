"""Tools for a portfolio of domains."""

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from builders.kit.effects import Effect
from builders.kit.mandates import Toolset
from builders.mcp_server.calls import Calls, NextAction, Refused
from builders.mcp_server.tools import (
    MAX_SHOWN,
    Amount,
    Arguments,
    Cursor,
    Limit,
    Reply,
    Result,
    Untrusted,
    UntrustedJson,
    tool,
    untrusted,
)

SUMMARY, RENEWALS, DOMAINS = "/v1/portfolio/summary", "/v1/portfolio/renewals", "/v1/portfolio/domains"
IMPORT, RECONCILE = "/v1/portfolio/import", "/v1/portfolio/registrars/reconcile"
Day = Annotated[str | None, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class PortfolioSummary(Arguments):
    """Which period and domains."""

    months: Annotated[int | None, Field(ge=1, le=120)] = None
    year: Annotated[int | None, Field(ge=1990, le=2200)] = None
    since: Day = None
    until: Day = None
    tag: str | None = None
    registrar: str | None = None


class Totals(Reply):
    """Sums in the base currency; absent if you may not see amounts."""

    cost: Amount | None = None
    income: Amount | None = None
    sale: Amount | None = None
    net: Amount | None = None
    entries: int
    unconverted: int


class Summary(Result):
    """Cost and income of a period."""

    base_currency: str
    since: str
    until: str
    domains: int
    totals: Totals
    by_tld: list[dict[str, Any]] = Field(default_factory=list)


@tool("Summarize the portfolio", Toolset.PORTFOLIO, f"GET {SUMMARY}")
async def portfolio_summary(api: Calls, asked: PortfolioSummary) -> Summary:
    """Sum the cost and income of the domains in a period: months, a year, or from a day to a day."""
    period = {"months": asked.months, "year": asked.year, "from": asked.since, "to": asked.until}
    found = await api.get(SUMMARY, **period, tag=asked.tag, registrar=asked.registrar)
    tlds = [{"tld": each["tld"], "domains": each["domains"]} for each in found["by_tld"][:MAX_SHOWN]]
    return Summary.model_validate({**found, "by_tld": tlds})


class RenewalsDue(Arguments):
    """Until when."""

    within_days: Annotated[int, Field(ge=1, le=365)] = 30
    decision: Literal["renew", "drop", "undecided"] | None = None
    tag: str | None = None
    limit: Limit = MAX_SHOWN
    cursor: Cursor = None


class Renewal(Reply):
    """A domain that expires."""

    domain: str
    domain_id: str
    registrar: str | None = None
    expires_at: str | None = None
    days_left: int | None = None
    auto_renew: bool | None = None
    renewal_price: Amount | None = None
    decision: str
    untrusted_note: Untrusted | None = untrusted("note")


class RenewalTotals(Reply):
    """Sums of all such domains, also those of other pages."""

    count: int
    base: Amount | None = None
    unconverted: int
    unknown_price: int | None = None


class Renewals(Result):
    """Renewals that are due."""

    renewals: list[Renewal]
    totals: RenewalTotals
    next_cursor: str | None = None


@tool("List renewals due", Toolset.PORTFOLIO, f"GET {RENEWALS}")
async def renewals_due(api: Calls, asked: RenewalsDue) -> Renewals:
    """List the domains that expire soon or have expired, with price and decision, and what all of them cost."""
    found = await api.get(RENEWALS, **asked.model_dump())
    return Renewals.model_validate({**found, "renewals": found["items"]})


class RankDomains(Arguments):
    """By what."""

    by: Literal["roi", "net", "cost", "income", "renewal_price_base", "expires_at"] = "roi"
    order: Literal["highest", "lowest"] = "lowest"
    tag: str | None = None
    limit: Limit = 5
    cursor: Cursor = None


class RankedDomain(Reply):
    """A domain with its figures."""

    domain: str
    id: str
    status: str
    roi: float | None = None
    net: Amount | None = None
    cost: Amount | None = None
    income: Amount | None = None
    renewal_price: Amount | None = None
    expires_at: str | None = None
    untrusted_notes: Untrusted | None = untrusted("notes")


class RankedDomains(Result):
    """Domains in the asked order."""

    domains: list[RankedDomain]
    next_cursor: str | None = None


@tool("Rank domains", Toolset.PORTFOLIO, f"GET {DOMAINS}")
async def rank_domains(api: Calls, asked: RankDomains) -> RankedDomains:
    """Rank the domains by return, net, cost, income, renewal price or expiry: the worst or the best."""
    sort = asked.by if asked.order == "lowest" else f"-{asked.by}"
    found = await api.get(DOMAINS, sort=sort, tag=asked.tag, limit=asked.limit, cursor=asked.cursor)
    return RankedDomains.model_validate({"domains": found["items"], "next_cursor": found["next_cursor"]})


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
        defaults = {"registrar": self.registrar, "currency": self.currency}
        given = {name: each for name, each in defaults.items() if each is not None}
        return {
            "csv": self.csv,
            "on_conflict": self.on_conflict,
            "date_order": self.date_order,
            **({"mapping": self.mapping} if self.mapping else {}),
            **({"defaults": given} if given else {}),
        }

    @property
    def digest_of_table(self) -> str:
        """Return the digest of what an import would read."""
        return hashlib.sha256(json.dumps(self.body, sort_keys=True).encode()).hexdigest()[:32]


class Problem(Reply):
    """What is wrong with a table or a row."""

    code: str
    message: str
    field: str | None = None
    did_you_mean: str | None = None


class PreviewedRow(Reply):
    """A row with a problem."""

    line: int | None = None
    untrusted_cells: UntrustedJson = untrusted("cells")
    errors: list[Problem]
    warnings: list[Problem]


class Column(Reply):
    """A column, and the field that it is read as."""

    untrusted_header: Untrusted = untrusted("header")
    field: str | None = None
    dropped: bool


class TablePreview(Result):
    """How an import would read the table."""

    digest: str
    format: str
    rows_total: int | None = None
    columns: list[Column]
    problem: Problem | None = None
    warnings: list[Problem]
    problem_rows: list[PreviewedRow]


@tool("Preview a table", Toolset.PORTFOLIO, f"POST {IMPORT}/preview", effect=Effect.PROPOSE)
async def preview_table(api: Calls, asked: PreviewTable) -> TablePreview:
    """Show how import_table would read a CSV table, with the rows that have problems. Nothing changes."""
    found = (await api.send("POST", f"{IMPORT}/preview", body=asked.body)).body
    digest = asked.digest_of_table
    action = NextAction(
        "Import this table: send the same arguments with `digest`.", "import_table", {"digest": digest}
    )
    shown = {
        **found,
        "digest": digest,
        "format": found["detected"]["format"],
        "warnings": found["detected"].get("warnings", []),
        "problem_rows": found["problem_rows"][:MAX_SHOWN],
        "next_actions": [] if found["problem"] else [action.shown()],
    }
    return TablePreview.model_validate(shown)


class ImportTable(PreviewTable):
    """The table as it was previewed."""

    digest: Annotated[str, Field(description="Of preview_table: another table is refused.")]


class ImportedRow(Reply):
    """The result of a row."""

    outcome: str
    line: int | None = None
    domain: str | None = None
    errors: list[Problem] = Field(default_factory=list)


class Imported(Result):
    """The import, which may still run."""

    import_id: str
    state: str
    rows_total: int | None = None
    rows_done: int
    summary: dict[str, int]
    failed_rows: list[ImportedRow]
    undo_until: str | None = None


@tool("Import a table", Toolset.PORTFOLIO, f"POST {IMPORT}", effect=Effect.WRITE)
async def import_table(api: Calls, asked: ImportTable) -> Imported:
    """Import a table that preview_table has shown: the same arguments with its digest. It can be undone."""
    if asked.digest != asked.digest_of_table:
        again = NextAction("Preview the table that you want to import.", "preview_table")
        raise Refused("preview_mismatch", "The digest is not that of this table with these options.", again)
    found = (await api.send("POST", IMPORT, body=asked.body)).body
    failed = [each for each in found["results"] if each["outcome"] == "error"][:MAX_SHOWN]
    return Imported.model_validate({**found, "failed_rows": failed})


class Reconcile(Arguments):
    """Which differences."""

    provider: Annotated[str | None, Field(description="A registrar, such as `porkbun`.")] = None
    min_severity: Literal["info", "warn", "high", "critical"] | None = None
    limit: Limit = MAX_SHOWN
    cursor: Cursor = None


class Difference(Reply):
    """A difference between the portfolio and a registrar."""

    category: str
    severity: str | None = None
    domain: str | None = None
    provider: str | None = None
    message: str
    untrusted_values: UntrustedJson
    suggested_action: dict[str, Any] | None = None


class Differences(Result):
    """Differences, the most severe first."""

    differences: list[Difference]
    compared: int
    not_checked: list[str]
    next_cursor: str | None = None


@tool("Compare with registrars", Toolset.PORTFOLIO, f"GET {RECONCILE}")
async def reconcile(api: Calls, asked: Reconcile) -> Differences:
    """Compare the portfolio with the last listings of its registrars: what differs, and what was not checked."""
    found = await api.get(RECONCILE, **asked.model_dump())
    both = ("portfolio_value", "registrar_value")
    rows = [{**each, "untrusted_values": {name: each[name] for name in both}} for each in found["findings"]]
    shown = {
        "differences": rows,
        "compared": found["summary"]["compared"],
        "not_checked": [f"{each['provider']}: {each['reason']}" for each in found["not_checked"]],
        "next_cursor": found["next_cursor"],
    }
    return Differences.model_validate(shown)
