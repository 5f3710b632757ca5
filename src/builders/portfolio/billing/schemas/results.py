"""Replies about applications and imports of charges."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply, WriteReply
from builders.kit.http.bulk import BulkReply, RowResult, summarize
from builders.kit.sheets.reading import DetectedTable
from builders.portfolio.billing.importing import ImportedCharges
from builders.portfolio.billing.records import (
    Application,
    AppliedCharge,
    ApplyOutcome,
    Candidate,
    ChargeReason,
    MatchMethod,
)
from builders.portfolio.billing.schemas.charges import ChargeCandidate, Confidence, show_confidence
from builders.portfolio.ledger.errors import EntryLimitReached


class AppliedChargeReply(Reply):
    """Result of one charge."""

    charge_id: Annotated[UUID, Field(description="The charge.")]
    domain_id: Annotated[UUID | None, Field(description="The domain, or the likeliest candidate.")]
    entry_id: Annotated[
        UUID | None, Field(description="The entry of the ledger; null when there is none, as in a dry run.")
    ]
    outcome: Annotated[ApplyOutcome, Field(description="The result for the charge.")]
    confidence: Confidence
    reason: Annotated[str, Field(description="The reason, as a sentence.")]


class BillingApplied(WriteReply):
    """Result of an application of charges."""

    examined: Annotated[int, Field(description="Charges that were examined.")]
    matched: Annotated[int, Field(description="Charges whose domain is known.")]
    applied: Annotated[int, Field(description="Charges that were booked, or linked with an entry.")]
    still_unmatched: Annotated[int, Field(description="Charges that need a decision.")]
    linked_existing: Annotated[int, Field(description="Applied charges whose entry a member had recorded.")]
    undone: Annotated[int, Field(description="Charges whose entry was voided.")]
    dry_run: Annotated[bool, Field(description="Whether it was a dry run, without changes.")]
    has_more: Annotated[bool, Field(description="Whether more charges remain; send the request again.")]
    results: Annotated[list[AppliedChargeReply], Field(description="The first 1,000 charges.")]


_REASONS: Mapping[MatchMethod, str] = {
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
    return BillingApplied.from_record(
        done, dry_run=dry_run, results=[_applied(each, dry_run=dry_run) for each in done.results]
    )


_REASON_OF: Mapping[ChargeReason, str] = {
    ChargeReason.ENTRY_LIMIT: EntryLimitReached.default_detail or "",
}


def _applied(done: AppliedCharge, *, dry_run: bool) -> AppliedChargeReply:
    found = done.candidate
    is_rolled_back = dry_run and done.outcome is ApplyOutcome.APPLIED
    return AppliedChargeReply(
        charge_id=done.charge.id,
        domain_id=done.charge.domain_id if found is None else found.domain_id,
        entry_id=None if is_rolled_back else done.entry_id,
        outcome=done.outcome,
        confidence=show_confidence(done.charge.confidence if found is None else found.confidence),
        reason=_REASON_OF[done.reason] if done.reason else _reason(done.outcome, found),
    )


def _reason(outcome: ApplyOutcome, found: Candidate | None) -> str:
    if outcome is ApplyOutcome.UNDONE:
        return "Its entry was voided."
    if outcome is ApplyOutcome.IGNORED:
        return "It is a refund of a charge that is ignored."
    if outcome is ApplyOutcome.LINKED:
        return "A member had recorded the same amount within 7 days."
    return "The charge contains no domain of the portfolio." if found is None else _REASONS[found.method]


class UnmatchedCharge(Reply):
    """A new charge that needs a decision."""

    charge_id: Annotated[UUID | None, Field(description="The charge; null in a dry run, which records none.")]
    line: Annotated[int | None, Field(description="Line of the file.")]
    index: Annotated[int | None, Field(description="Index of the row in the body.")]
    domain: Annotated[str | None, Field(description="The domain that is named, if any.")]
    description: Annotated[str, Field(description="The row of the file.")]
    candidates: Annotated[list[ChargeCandidate], Field(description="The likeliest domain, if any.")]
    reason: Annotated[
        ChargeReason | None,
        Field(description="`entry_limit`: its domain has as many entries as it can have."),
    ]


class BillingImported(BulkReply):
    """Result of an import of charges, by row."""

    import_id: Annotated[UUID, Field(description="Identifier of the import.")]
    provider: Annotated[str, Field(description="The registrar.")]
    dry_run: Annotated[bool, Field(description="Whether it was a dry run, without recorded charges.")]
    detected: Annotated[DetectedTable, Field(description="How the file was read.")]
    matched: Annotated[int, Field(description="New charges whose domain was found.")]
    applied: Annotated[int, Field(description="New charges that were booked in the ledger.")]
    unmatched: Annotated[list[UnmatchedCharge], Field(description="New charges that need a decision.")]


def imported_reply(done: ImportedCharges, *, dry_run: bool) -> BillingImported:
    """Return the result of an import."""
    return BillingImported(
        import_id=done.id,
        provider=done.provider,
        dry_run=dry_run,
        detected=done.detected,
        results=[replace(each, id=None) if dry_run else each for each in done.results],
        summary=summarize(done.results),
        matched=done.matched,
        applied=done.applied,
        unmatched=[_unmatched(place, each, dry_run=dry_run) for place, each in done.unmatched],
    )


def _unmatched(place: RowResult, done: AppliedCharge, *, dry_run: bool) -> UnmatchedCharge:
    found = done.candidate
    return UnmatchedCharge(
        charge_id=None if dry_run else done.charge.id,
        line=place.line,
        index=place.index,
        domain=done.charge.domain,
        description=done.charge.description,
        candidates=[] if found is None else [_shown_candidate(found)],
        reason=done.reason,
    )


def _shown_candidate(found: Candidate) -> ChargeCandidate:
    return ChargeCandidate.from_record(found, confidence=show_confidence(found.confidence))
