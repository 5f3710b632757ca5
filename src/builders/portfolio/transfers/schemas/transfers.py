"""Replies about transfers, and whether a domain may move."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply
from builders.portfolio.registrars.records import TransferDirection
from builders.portfolio.transfers.records import (
    CodeDelivery,
    MoveState,
    SourceName,
    StepName,
    TransferReport,
)
from builders.portfolio.transfers.rule_records import (
    AppliedRule,
    Block,
    Eligibility,
    FactSource,
    RuleName,
    RuleOutcome,
    RuleStatus,
    RuleUnit,
)

BLOCK: JsonDict = {
    "code": "registrar_lock",
    "until": None,
    "source": "RFC 5731, 2.3",
    "known_from": "registrar",
    "message": "The registrar locks the domain. You can unlock it there.",
}
Time = datetime | None


class TransferBlock(Reply):
    """A reason why a domain cannot move now."""

    code: Annotated[RuleName, Field(description="The rule.")]
    until: Annotated[
        Time, Field(description="The time at which it ends automatically; null if it requires a change.")
    ]
    source: Annotated[str, Field(description="Document that contains the rule.")]
    known_from: Annotated[FactSource, Field(description="The source of the fact on which it is based.")]
    message: Annotated[str, Field(description="The rule in a sentence.")]


class EligibilityReply(Reply):
    """Whether a domain may move to another registrar."""

    transferable: Annotated[
        bool | None, Field(description="Null when the rules, or the day of the registration, are not known.")
    ]
    eligible_at: Annotated[
        Time, Field(description="End of the last obstacle; null without obstacles, or if an obstacle has no end.")
    ]
    blocked_by: Annotated[list[TransferBlock], Field(description="All obstacles to a transfer.")]


class LastAuthCode(Reply):
    """The last request for the auth code; all null before the first."""

    last_requested_at: Annotated[Time, Field(description="When it was requested here.")]
    delivery: Annotated[
        CodeDelivery | None,
        Field(description="How it was delivered; `pending` when the registrar did not answer."),
    ]
    expires_at: Annotated[
        Time, Field(description="End of its validity; null if the registrar does not report it.")
    ]


class TransferStep(Reply):
    """A step on the way to another registrar."""

    name: Annotated[StepName, Field(description="The step.")]
    done: Annotated[bool, Field(description="Whether it is done.")]
    at: Annotated[Time, Field(description="When it was done, or can be; null: not known.")]


class TransferSource(Reply):
    """The queried source."""

    name: Annotated[SourceName, Field(description="The source.")]
    checked_at: Annotated[Time, Field(description="Time of the last query; null: never.")]
    ok: Annotated[bool, Field(description="Whether it responded.")]
    error: Annotated[str | None, Field(description="Why it did not respond; null with a response.")]


class AppliedTransferRule(Reply):
    """A rule that is in force for the domain."""

    rule: Annotated[RuleName, Field(description="The subject of the rule.")]
    scope: Annotated[str, Field(description="`gtld`, `any`, or a top-level domain.")]
    value: Annotated[int | str, Field(description="The value, in `unit`.")]
    unit: Annotated[RuleUnit, Field(description="Unit of the value.")]
    effective_from: Annotated[date | None, Field(description="The first day; null: not known.")]
    effective_to: Annotated[date | None, Field(description="The last day; null: not known.")]
    status: Annotated[RuleStatus, Field(description="Always `in_force` here.")]
    source: Annotated[str, Field(description="Document that contains the rule.")]
    outcome: Annotated[RuleOutcome, Field(description="The effect of the rule on the domain.")]


class TransferReply(Reply):
    """The state of the transfer of a domain, with its sources."""

    domain_id: Annotated[UUID, Field(description="Identifier of the domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    state: Annotated[
        MoveState,
        Field(
            description=(
                "`none`: no information. `eligible`: only the registrar's lock can prevent a transfer. An ended "
                "transfer is shown for 60 days."
            )
        ),
    ]
    direction: Annotated[
        TransferDirection | None, Field(description="Direction of the transfer; null without one.")
    ]
    provider: Annotated[str | None, Field(description="The connected registrar, or the one that reports.")]
    provider_status: Annotated[str | None, Field(description="The status in the registrar's own term.")]
    message: Annotated[str | None, Field(description="The registrar's text.")]
    expected: Annotated[
        bool | None,
        Field(description="Whether you prepared the transfer; null if unknown, or if there is none."),
    ]
    locked: Annotated[bool | None, Field(description="Whether the registrar locks the domain; null: not known.")]
    transferable: Annotated[bool | None, Field(description="Whether it may move now; null: not known.")]
    eligible_at: Annotated[
        Time, Field(description="End of the last obstacle; null without obstacles, or if an obstacle has no end.")
    ]
    blocked_by: Annotated[list[TransferBlock], Field(description="All obstacles to a transfer.")]
    auth_code: Annotated[LastAuthCode, Field(description="The last request for the auth code. Never the code.")]
    losing_registrar: Annotated[str | None, Field(description="The losing registrar; null: not known.")]
    gaining_registrar: Annotated[str | None, Field(description="The gaining registrar; null: not known.")]
    started_at: Annotated[Time, Field(description="When the transfer began; null without one.")]
    expected_by: Annotated[Time, Field(description="When it is completed at the latest, by the rules.")]
    completed_at: Annotated[Time, Field(description="When it was completed, failed or cancelled.")]
    steps: Annotated[list[TransferStep], Field(description="The steps in their order.")]
    sources: Annotated[list[TransferSource], Field(description="The queried sources and the time of each query.")]
    rules_applied: Annotated[
        list[AppliedTransferRule], Field(description="The rules in force, each with its result.")
    ]


def eligibility_reply(found: Eligibility) -> EligibilityReply:
    """Return whether a domain may move."""
    return EligibilityReply(
        transferable=found.transferable, eligible_at=found.eligible_at, blocked_by=_blocks(found.blocked_by)
    )


def _blocks(blocks: Iterable[Block]) -> list[TransferBlock]:
    return [TransferBlock.from_record(each) for each in blocks]


def _rule(applied: AppliedRule) -> AppliedTransferRule:
    return AppliedTransferRule.from_record(applied.rule, outcome=applied.outcome)


def transfer_reply(report: TransferReport) -> TransferReply:
    """Return the state of a transfer."""
    move, code, eligibility = report.move, report.code, report.eligibility
    return TransferReply(
        domain_id=report.domain.id,
        domain=report.domain.domain,
        state=report.state,
        direction=move and move.direction,
        provider=report.provider,
        provider_status=move and move.status_raw,
        message=move and move.message,
        expected=move and move.is_expected,
        locked=report.locked,
        transferable=eligibility.transferable,
        eligible_at=eligibility.eligible_at,
        blocked_by=_blocks(eligibility.blocked_by),
        auth_code=LastAuthCode(
            last_requested_at=code and code.requested_at,
            delivery=code and code.delivery,
            expires_at=code and code.expires_at,
        ),
        losing_registrar=report.losing_registrar,
        gaining_registrar=report.gaining_registrar,
        started_at=move and move.started_at,
        expected_by=report.expected_by,
        completed_at=move and move.ended_at,
        steps=[TransferStep.from_record(each) for each in report.steps],
        sources=[TransferSource.from_record(each) for each in report.sources],
        rules_applied=[_rule(each) for each in eligibility.rules_applied],
    )
