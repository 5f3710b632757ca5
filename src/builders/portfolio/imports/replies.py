"""Replies of imports."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.kit.http.bulk import BulkReply, BulkSummary, RowProblem, RowResult
from builders.kit.http.fields import CreatedAt
from builders.kit.http.pagination import Page, PageReply
from builders.kit.sheets.reading import DetectedTable
from builders.kit.values.money import Money
from builders.portfolio.domains.records import ExpirySource, Ownership, PortfolioDomainStatus
from builders.portfolio.imports.records import MAX_KEPT, Import, ImportState, Undone
from builders.portfolio.ledger.records import EntryKind, EntrySource

ImportId = Annotated[UUID, Field(description="Identifier of the import.")]


class PortfolioImportUndo(Reply):
    """Progress or result of the undo."""

    rows: Annotated[int, Field(description="Rows that are undone.")]
    removed: Annotated[int, Field(description="Domains that the import had added.")]
    restored: Annotated[int, Field(description="Domains whose fields were restored.")]
    kept: Annotated[int, Field(description="Domains of which something is kept: it was changed or used since.")]


class PortfolioImportItem(Reply):
    """An import, without its rows."""

    import_id: ImportId
    state: Annotated[
        ImportState,
        Field(description="`queued` and `running`: a job imports it. `failed`: `failure` says why it stopped."),
    ]
    dry_run: Annotated[bool, Field(description="Whether it only reports its effect.")]
    detected: Annotated[
        DetectedTable | None,
        Field(description="Detected properties of the source; null until a job has read it."),
    ]
    failure: Annotated[RowProblem | None, Field(description="Why the import stopped; else null.")]
    rows_total: Annotated[int | None, Field(description="Number of rows; null until a job has read the source.")]
    rows_done: Annotated[int, Field(description="Rows that have a result.")]
    summary: Annotated[BulkSummary, Field(description="The number of rows so far, by outcome.")]
    merged_duplicates: Annotated[int, Field(description="Rows with the domain of an earlier row.")]
    undo: Annotated[PortfolioImportUndo | None, Field(description="Result of the undo; null without one.")]
    undo_until: Annotated[
        datetime | None,
        Field(description="End of the time in which the import can be undone; null when it made no changes."),
    ]
    created_by: Annotated[UUID, Field(description="Account of the member who imported it.")]
    created_at: CreatedAt
    finished_at: Annotated[datetime | None, Field(description="When it ended; null before.")]


class PortfolioImportReply(PortfolioImportItem, BulkReply):
    """An import with the results of its rows."""

    results: Annotated[
        list[RowResult],
        Field(description="Results in the order of the source. Those of a job are read with GET."),
    ]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` to read the next results; null on the last page.")
    ]


class PortfolioImportUndone(PortfolioImportItem):
    """An import after its undo, or what an undo would do."""

    dry_run: Annotated[bool, Field(description="Whether this only reports what the undo would do.")]
    kept_rows: Annotated[
        list[RowResult],
        Field(
            description=f"The first {MAX_KEPT} rows of which something is kept; their warnings have the reasons. "
            "After the undo, `GET /v1/portfolio/imports/{import_id}?kept=true` lists all."
        ),
    ]
    before_row: Annotated[
        int | None, Field(description="Send it as `before_row` to continue a dry run; null at its end.")
    ]


def import_item(made: Import) -> PortfolioImportItem:
    """Return an import as an item of the list."""
    return PortfolioImportItem(**_members(made))


def undone_reply(undone: Undone, kept: list[RowResult]) -> PortfolioImportUndone:
    """Return the undo of an import, or its dry run."""
    counts = PortfolioImportUndo.from_record(undone.made.undo)
    members = {**_members(undone.made), "undo": counts, "dry_run": undone.is_dry_run}
    return PortfolioImportUndone(**members, kept_rows=kept, before_row=undone.before_row)


def import_page(page: Page[Import]) -> PageReply[PortfolioImportItem]:
    """Return a page of imports."""
    return PageReply(items=[import_item(each) for each in page.items], next_cursor=page.next_cursor)


def import_reply(made: Import, results: Page[RowResult]) -> PortfolioImportReply:
    """Return an import with results of its rows."""
    return PortfolioImportReply(**_members(made), results=list(results.items), next_cursor=results.next_cursor)


def _members(made: Import) -> dict[str, Any]:
    is_undone = made.state in {ImportState.UNDOING, ImportState.UNDONE}
    return {
        "import_id": made.id,
        "state": made.state,
        "dry_run": made.options.dry_run,
        "detected": made.detected,
        "failure": made.failure,
        "rows_total": made.rows_total,
        "rows_done": made.rows_done,
        "summary": made.counts.summary(),
        "merged_duplicates": made.counts.duplicates,
        "undo": PortfolioImportUndo.model_validate(made.undo) if is_undone else None,
        "undo_until": made.undo_until,
        "created_by": made.created_by,
        "created_at": made.created_at,
        "finished_at": made.finished_at,
    }


class PortfolioExportEntry(Reply):
    """An entry of the ledger."""

    kind: Annotated[EntryKind, Field(description="Kind of the amount.")]
    amount: Annotated[str, Field(description="Exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    on: Annotated[date, Field(description="Day of the payment.")]
    years: Annotated[int | None, Field(description="Years that the amount pays for; absent when unknown.")] = None
    registrar: Annotated[str | None, Field(description="The payee; absent when unknown.")] = None
    memo: Annotated[str | None, Field(description="Note about the amount; absent without one.")] = None
    source: Annotated[EntrySource, Field(description="Source of the entry.")]
    reference: Annotated[
        str | None,
        Field(description=("Your own reference, recorded once; absent without one.")),
    ] = None
    order_ref: Annotated[
        str | None,
        Field(description="Number of the order or invoice; absent without one."),
    ] = None


class PortfolioExportPayment(Reply):
    """An instalment or a fee."""

    kind: Annotated[EntryKind | None, Field(description="Kind of a fee.")] = None
    amount: Annotated[str, Field(description="Exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    on: Annotated[date | None, Field(description="Day; null: that of the sale.")]


class PortfolioExportSale(Reply):
    """A sale of the domain."""

    amount: Annotated[str, Field(description="The price: exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    sold_on: Annotated[date, Field(description="Day of the sale.")]
    commission: Annotated[Money | None, Field(description="A fixed commission.")] = None
    commission_rate: Annotated[str | None, Field(description="Part of the price that is the commission.")] = None
    fees: Annotated[list[PortfolioExportPayment], Field(description="Costs besides the commission.")]
    installments: Annotated[list[PortfolioExportPayment], Field(description="Instalments.")]
    venue: Annotated[str | None, Field(description="The marketplace of the sale.")] = None
    buyer_ref: Annotated[str | None, Field(description="Your own reference to the buyer.")] = None
    own_share: Annotated[str, Field(description="Part of the net proceeds that is yours.")]


class PortfolioExportRevenue(Reply):
    """Parking revenue on a day."""

    amount: Annotated[str, Field(description="Exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    on: Annotated[date, Field(description="The day, in UTC.")]
    provider: Annotated[str, Field(description="The parking provider.")]
    reference: Annotated[str | None, Field(description="Your own reference.")] = None
    visits: Annotated[int | None, Field(description="Counted visits.")] = None
    clicks: Annotated[int | None, Field(description="Clicks on advertisements.")] = None


class PortfolioExportRow(Reply):
    """A domain with all members of an import."""

    domain: Annotated[str, Field(description="Lower-case A-label.")]
    unicode: Annotated[str, Field(description="The name in Unicode; for most names the same.")]
    status: Annotated[PortfolioDomainStatus, Field(description="Status of the domain in your portfolio.")]
    ownership: Annotated[Ownership, Field(description="Legal basis on which you hold the domain.")]
    counterparty: Annotated[str | None, Field(description="The lessor or consignor of the domain.")]
    revenue_share: Annotated[str | None, Field(description="Share of the counterparty in the income, in percent.")]
    registrar: Annotated[str | None, Field(description="Where the domain is registered.")]
    registered_on: Annotated[date | None, Field(description="When the domain was first registered.")]
    acquired_on: Annotated[date | None, Field(description="When you acquired the domain.")]
    expires_at: Annotated[datetime | None, Field(description="When the registration expires.")]
    expiry_source: Annotated[ExpirySource | None, Field(description="Source of the expiry.")]
    auto_renew: Annotated[bool | None, Field(description="Whether the registrar renews the domain.")]
    locked: Annotated[bool | None, Field(description="Whether transfers are locked.")]
    privacy: Annotated[bool | None, Field(description="Whether the contacts are hidden.")]
    nameservers: Annotated[list[str], Field(description="Name servers of the domain.")]
    epp_statuses: Annotated[list[str], Field(description="Statuses at the registry as EPP names them.")]
    tags: Annotated[list[str], Field(description="Your tags.")]
    folder: Annotated[str | None, Field(description="Your folder.")]
    notes: Annotated[str | None, Field(description="Your notes.")]
    pinned: Annotated[bool, Field(description="Whether you keep the domain independently of its figures.")]
    renewal_price: Annotated[Money | None, Field(description="Price of one more year.")]
    asking_price: Annotated[Money | None, Field(description="Price that you ask for the domain.")]
    min_offer: Annotated[Money | None, Field(description="Lowest offer that you consider.")]
    estimated_value: Annotated[Money | None, Field(description="Your estimate of the value of the domain.")]
    entries: Annotated[
        list[PortfolioExportEntry] | None,
        Field(description="Its other ledger entries; null, as the next two, when your role does not see money."),
    ]
    sales: Annotated[list[PortfolioExportSale] | None, Field(description="Its sales, by day.")]
    parking: Annotated[list[PortfolioExportRevenue] | None, Field(description="Its parking revenue, by day.")]


class PortfolioExport(Reply):
    """All domains of a portfolio: the body of an import."""

    rows: Annotated[list[PortfolioExportRow], Field(description="The domains, by name.")]
    redacted: Annotated[
        list[Literal["finance"]], Field(description="`finance`: your role does not see money. Absent otherwise.")
    ] = []  # noqa: RUF012 - pydantic copies it
