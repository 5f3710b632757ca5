"""Replies of billing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply, WriteReply
from builders.kit.http.bulk import BulkReply
from builders.kit.http.pagination import NextCursor
from builders.kit.pages import Page
from builders.kit.rows import RowResult, summarize
from builders.kit.sheets.csv_files import normalize_header
from builders.kit.sheets.detection import DetectedTable
from builders.kit.sheets.formats import Format
from builders.kit.sheets.kinds import TableKind
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CurrencyCode, Money
from builders.kit.values.resources import MONEY
from builders.portfolio.billing.charge_imports import CHARGES, ImportedCharges, ReadCharges
from builders.portfolio.billing.records import (
    Application,
    AppliedCharge,
    ApplyOutcome,
    Candidate,
    Charge,
    ChargeReason,
    ChargeState,
    Confidence,
    ConnectionFreshness,
    MatchMethod,
    Refresh,
    StateSum,
    SyncedRun,
)
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.runs.members import PartReply, RunReply
from builders.portfolio.runs.records import Part, PartState, RunState
from builders.portfolio.team.visibility import visible

MAX_RESULTS = 1_000  # of an application
_TEMPLATES = "/v1/portfolio/registrars/billing/templates"


class ChargesByState(Reply):
    """How many charges are in each state."""

    unmatched: Annotated[int, doc("Charges without a domain.")]
    suggested: Annotated[int, doc("Charges with candidates.")]
    matched: Annotated[int, doc("The domain is known; not booked.")]
    applied: Annotated[int, doc("Booked in the ledger.")]
    ignored: Annotated[int, doc("Excluded by a member.")]
    split: Annotated[int, doc("Split by a member; their parts are charges, too.")]


class ChargeSums(Reply):
    """Sums of the charges in one currency; `total` is the sum of the others without `split`, whose parts count."""

    currency: Annotated[CurrencyCode, doc("ISO 4217 code.")]
    total: Annotated[Money | None, doc("All charges, less refunds; of split ones their parts."), MONEY]
    unmatched: Annotated[Money | None, doc("Charges without a domain."), MONEY]
    suggested: Annotated[Money | None, doc("Charges with candidates."), MONEY]
    matched: Annotated[Money | None, doc("Charges with a domain that are not booked."), MONEY]
    applied: Annotated[Money | None, doc("Booked charges."), MONEY]
    ignored: Annotated[Money | None, doc("Omitted charges."), MONEY]
    split: Annotated[Money | None, doc("Split charges."), MONEY]


class ChargeTotals(Reply):
    """Numbers and sums of charges."""

    by_state: Annotated[ChargesByState, doc("Numbers of charges.")]
    by_currency: Annotated[list[ChargeSums], doc("Sums of each currency.")]


class BillingCharges(Reply):
    """Charges, the newest first."""

    items: Annotated[list[Charge], doc("The charges of this page.")]
    next_cursor: NextCursor
    count: Annotated[int, doc("Number of all charges of the filters.")]
    totals: Annotated[ChargeTotals, doc("Numbers and sums of all charges of the filters.")]
    redacted: Annotated[list[str], doc("`finance` when the role does not see money.")]


def charges_reply(page: Page[Charge], sums: Sequence[StateSum], *, shows_finance: bool) -> BillingCharges:
    """Return a page of charges; without finance their money is null."""
    states = [each.value for each in ChargeState]
    counts = {state: sum(each.count for each in sums if each.state == state) for state in states}
    by_currency = []
    for currency in sorted({each.currency for each in sums}):
        zero = Money.zero(currency)
        amounts = {
            each.state: Money(each.total, currency).quantized() for each in sums if each.currency == currency
        }
        counted = (amount for state, amount in amounts.items() if state != ChargeState.SPLIT)
        parts = {state: amounts.get(state, zero) for state in states}
        by_currency.append(ChargeSums(currency=currency, total=sum(counted, zero), **parts))
    reply = BillingCharges(
        items=list(page.items),
        next_cursor=page.next_cursor,
        count=sum(counts.values()),
        totals=ChargeTotals(by_state=ChargesByState(**counts), by_currency=by_currency),
        redacted=[],
    )
    return visible(reply, shows_finance=shows_finance)


class BillingSplit(WriteReply):
    """A split charge and its parts."""

    charge: Annotated[Charge, doc("The charge that is split.")]
    parts: Annotated[list[Charge], doc("The charge of each domain.")]


def split_reply(charge: Charge, parts: Sequence[Charge]) -> BillingSplit:
    """Return a split charge and its parts."""
    return BillingSplit(charge=charge, parts=list(parts))


class AppliedChargeReply(Reply):
    """Result of one charge."""

    charge_id: Annotated[UUID, doc("The charge.")]
    domain_id: Annotated[UUID | None, doc("The domain, or the likeliest candidate.")]
    entry_id: Annotated[UUID | None, doc("The entry of the ledger; null when there is none, as in a dry run.")]
    outcome: Annotated[ApplyOutcome, doc("The result for the charge.")]
    confidence: Annotated[Confidence | None, doc("Certainty of the domain, from 0.00 to 1.00.")]
    reason: Annotated[str, doc("The reason, as a sentence.")]


class BillingApplied(WriteReply):
    """Result of an application of charges."""

    examined: Annotated[int, doc("Charges that were examined.")]
    matched: Annotated[int, doc("Charges whose domain is known.")]
    applied: Annotated[int, doc("Charges that were booked, or linked with an entry.")]
    still_unmatched: Annotated[int, doc("Charges that need a decision.")]
    linked_existing: Annotated[int, doc("Applied charges whose entry a member had recorded.")]
    undone: Annotated[int, doc("Charges whose entry was voided.")]
    dry_run: Annotated[bool, doc("Whether it was a dry run, without changes.")]
    has_more: Annotated[bool, doc("Whether more charges remain; send the request again.")]
    results: Annotated[list[AppliedChargeReply], doc(f"The first {MAX_RESULTS:,} charges.")]


_REASONS: Mapping[MatchMethod | ApplyOutcome | ChargeReason | None, str] = {
    ChargeReason.ENTRY_LIMIT: EntryLimitReached.default_detail or "",
    ApplyOutcome.UNDONE: "Its entry was voided.",
    ApplyOutcome.IGNORED: "It is a refund of a charge that is ignored.",
    ApplyOutcome.LINKED: "A member had recorded the same amount within 7 days.",
    None: "The charge contains no domain of the portfolio.",
    MatchMethod.EXACT_NAME: "The domain field contains it.",
    MatchMethod.IDN: "The domain field contains it, in Unicode.",
    MatchMethod.ORDER_ITEM: "The line contains it and other domains.",
    MatchMethod.DESCRIPTION: "The description contains it.",
    MatchMethod.LABEL: "The description contains only the name before the suffix.",
    MatchMethod.PARENT_ORDER: "It is the domain of the refunded charge.",
    MatchMethod.MANUAL: "A member chose it.",
}


def applied_reply(done: Application, *, dry_run: bool) -> BillingApplied:
    """Return the result of an application."""
    counts = Counter(each.outcome for each in done.results)
    linked = counts[ApplyOutcome.LINKED]
    return BillingApplied(
        examined=len(done.results),
        matched=sum(each.is_matched for each in done.results),
        applied=counts[ApplyOutcome.APPLIED] + linked,
        still_unmatched=counts[ApplyOutcome.UNMATCHED] + counts[ApplyOutcome.SUGGESTED],
        linked_existing=linked,
        undone=counts[ApplyOutcome.UNDONE],
        dry_run=dry_run,
        has_more=done.has_more,
        results=[_applied(each, dry_run=dry_run) for each in done.results[:MAX_RESULTS]],
    )


def _applied(done: AppliedCharge, *, dry_run: bool) -> AppliedChargeReply:
    candidate = done.candidate
    is_rolled_back = dry_run and done.outcome is ApplyOutcome.APPLIED
    method = None if candidate is None else candidate.method
    return AppliedChargeReply.from_record(
        candidate or done.charge,
        charge_id=done.charge.id,
        entry_id=None if is_rolled_back else done.entry_id,
        outcome=done.outcome,
        reason=_REASONS[done.reason or (done.outcome if done.outcome in _REASONS else method)],
    )


class UnmatchedCharge(Reply):
    """A new charge that needs a decision."""

    charge_id: Annotated[UUID | None, doc("The charge; null in a dry run, which records none.")]
    line: Annotated[int | None, doc("Line of the file.")]
    index: Annotated[int | None, doc("Index of the row in the body.")]
    domain: Annotated[DomainName | None, doc("The domain that is named, if any.")]
    description: Annotated[str, doc("The row of the file.")]
    candidates: Annotated[list[Candidate], doc("The likeliest domain, if any.")]
    reason: Annotated[ChargeReason | None, doc("`entry_limit`: its domain has as many entries as it can have.")]


class BillingImported(BulkReply):
    """Result of an import of charges, by row."""

    import_id: Annotated[UUID, doc("Identifier of the import.")]
    provider: Annotated[str, doc("The registrar.")]
    dry_run: Annotated[bool, doc("Whether it was a dry run, without recorded charges.")]
    detected: Annotated[DetectedTable, doc("How the file was read.")]
    matched: Annotated[int, doc("New charges whose domain was found.")]
    applied: Annotated[int, doc("New charges that were booked in the ledger.")]
    unmatched: Annotated[list[UnmatchedCharge], doc("New charges that need a decision.")]


def imported_reply(read: ReadCharges, done: ImportedCharges, *, dry_run: bool) -> BillingImported:
    """Return the result of an import."""
    return BillingImported(
        import_id=done.id,
        provider=done.provider,
        dry_run=dry_run,
        detected=read.detected,
        results=[replace(each, id=None) if dry_run else each for each in done.results],
        summary=summarize(done.results),
        matched=sum(each.is_matched for _, each in done.new),
        applied=sum(each.outcome in {ApplyOutcome.APPLIED, ApplyOutcome.LINKED} for _, each in done.new),
        unmatched=[_unmatched(*each, dry_run=dry_run) for each in done.new if not each[1].is_matched],
    )


def _unmatched(place: RowResult, done: AppliedCharge, *, dry_run: bool) -> UnmatchedCharge:
    return UnmatchedCharge.from_record(
        done.charge,
        charge_id=None if dry_run else done.charge.id,
        line=place.line,
        index=place.index,
        candidates=[] if done.candidate is None else [done.candidate],
        reason=done.reason,
    )


class BillingCounts(Reply):
    """Numbers of lines and charges."""

    fetched: Annotated[int, doc("Number of lines in the bills.")]
    new: Annotated[int, doc("Charges that were recorded: one for each domain of a line.")]
    duplicate: Annotated[int, doc("Charges that were recorded before.")]
    matched: Annotated[int, doc("New charges whose domain was found.")]
    unmatched: Annotated[int, doc("New charges that need a decision.")]
    refunds: Annotated[int, doc("New charges that are refunds.")]


class BillingRunProvider(PartReply, BillingCounts):
    """Result of a sync for one connection."""

    next_since: Annotated[date | None, doc("First day that the next sync reads.")]
    template_path: Annotated[str | None, doc("The CSV template to import instead, if unsupported.")]


class BillingRunTotals(Reply):
    """Sums of the new charges."""

    by_currency: Annotated[list[Money], doc("The sum of each currency, less refunds.")]


class BillingRun(RunReply, WriteReply):
    """A sync of charges."""

    providers: Annotated[list[BillingRunProvider], doc("The result of each connection.")]
    totals: Annotated[BillingRunTotals, doc("Sum of the new charges; empty in a dry run.")]
    summary: Annotated[BillingCounts, doc("Numbers of all connections together.")]


class InventoryRun(Reply):
    """The sync of the domains; `GET /v1/portfolio/registrars/runs/{run_id}` has its changes."""

    run_id: Annotated[UUID, doc("Identifier of the run.")]
    state: Annotated[RunState, doc("State of the run.")]
    failed: Annotated[list[str], doc("Registrars that could not be listed.")]


class BillingEnsured(WriteReply):
    """Age of the data of each connection, and the runs that refresh it."""

    providers: Annotated[list[ConnectionFreshness], doc("Each connection with an API.")]
    inventory: Annotated[InventoryRun | None, doc("The sync of domains; null when none is needed.")]
    billing: Annotated[BillingRun | None, doc("The sync of charges; null when none is needed.")]


def run_reply(synced: SyncedRun) -> BillingRun:
    """Return a sync of charges."""
    run = synced.run
    names = BillingCounts.model_fields
    return BillingRun.from_record(
        run,
        run_id=run.id,
        providers=[_provider(each, synced.next_since.get(each.subject_id)) for each in run.parts],
        totals=BillingRunTotals(by_currency=list(synced.totals)),
        summary={name: sum(each.counts.get(name, 0) for each in run.parts) for name in names},
    )


def _provider(part: Part, next_since: date | None) -> BillingRunProvider:
    is_unsupported = part.state is PartState.UNSUPPORTED
    return BillingRunProvider.from_record(
        part,
        connection_id=part.subject_id,
        next_since=None if is_unsupported else next_since,
        template_path=f"{_TEMPLATES}?provider={part.provider}" if is_unsupported else None,
        **{name: part.counts.get(name, 0) for name in BillingCounts.model_fields},
    )


def ensured_reply(refresh: Refresh) -> BillingEnsured:
    """Return the age of the data of each connection, and the runs."""
    run = refresh.inventory
    failed = {each.provider for each in run.parts if each.state is PartState.FAILED} if run else ()
    return BillingEnsured(
        providers=list(refresh.connections),
        inventory=None if run is None else InventoryRun(run_id=run.id, state=run.state, failed=sorted(failed)),
        billing=None if refresh.billing is None else run_reply(refresh.billing),
    )


class TemplateColumn(Reply):
    """A column of a template."""

    name: Annotated[str, doc("The field, as in `mapping` of an import.")]
    header: Annotated[str, doc("Its header in the template.")]
    type: Annotated[
        Literal["date", "text", "domain", "kind", "number", "amount", "currency"], doc("Kind of its values.")
    ]
    required: Annotated[bool, doc("Whether each row needs a value.")]
    example: Annotated[str, doc("A value.")]
    aliases: Annotated[list[str], doc("Other headers of the field.")]


class BillingTemplate(Reply):
    """Format of a CSV file of charges or of parking revenue."""

    id: Annotated[str, Field(description="Name of the template.", json_schema_extra={"examples": ["cloudflare"]})]
    provider: Annotated[str | None, doc("The registrar; null for any.")]
    title: Annotated[str, doc("Kind of the data in the file.")]
    columns: Annotated[list[TemplateColumn], doc("The columns, in their order.")]
    header_row: Annotated[str, doc("The header as a line of CSV.")]
    sample_csv: Annotated[str, doc("A file that can be imported without changes.")]
    notes: Annotated[str, doc("Instructions to fill in the file.")]
    verified: Annotated[bool, doc("False: the registrar's export can differ.")]
    import_path: Annotated[str, doc("The operation that reads the file.")]


class BillingTemplates(Reply):
    """Templates of CSV files."""

    items: Annotated[list[BillingTemplate], doc("The templates.")]
    next_cursor: Annotated[None, doc("Always null: the list has one page.")]
    count: Annotated[int, doc("Number of templates.")]


def templates_reply(templates: Sequence[tuple[TableKind[Any], Format]]) -> BillingTemplates:
    """Return the templates."""
    items = [_template(*each) for each in templates]
    return BillingTemplates(items=items, next_cursor=None, count=len(items))


def _template(kind: TableKind[Any], form: Format) -> BillingTemplate:
    """Return a template; its id has the name of the kind for another kind than charges."""
    columns = []
    for at, (name, header) in enumerate(form.headers.items()):
        column = kind.row.columns[name]
        aliases = [each for each in column.headers if each != normalize_header(header)]
        columns.append(
            TemplateColumn.from_record(
                column, header=header, required=column.is_strict, example=form.sample[0][at], aliases=aliases
            )
        )
    return BillingTemplate.from_record(
        form,
        id=form.id if kind is CHARGES else f"{kind.name}-{form.id}",
        provider=form.defaults.get("provider"),
        columns=columns,
        verified=form.is_verified,
        import_path=kind.path,
    )
