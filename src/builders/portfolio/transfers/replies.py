"""Replies about transfers, whether a domain may move, and auth codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import StringConstraints

from builders.kit.http.bodies import WARNINGS, Reply, UnknownField
from builders.kit.values import clock, texts
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.resources import extended, resource
from builders.portfolio.registrars import providers
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.records import HeldStatus, TransferDirection
from builders.portfolio.transfers import rules, states
from builders.portfolio.transfers.records import (
    MAX_REASON,
    AppliedRule,
    BlockedBy,
    CodeDelivery,
    CodeOptions,
    EligibleAt,
    IssuedCode,
    MoveState,
    SourceName,
    TransferSource,
    TransferStep,
)
from builders.portfolio.transfers.situations import Situation

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON), texts.Plain]
REASON = "Why the code is requested, for the audit list."
UNLOCK = "Whether you want to unlock the domain: `instructions` explain how."
REGENERATE = "Whether you want a new code: `instructions` explain how to get one."
Time = datetime | None


class LastAuthCode(Reply):
    """The last request for the auth code; all null before the first."""

    last_requested_at: Annotated[Time, doc("When it was requested here.")]
    delivery: Annotated[
        CodeDelivery | None, doc("How it was delivered; `pending` when the registrar did not answer.")
    ]
    expires_at: Annotated[Time, doc("End of its validity; null if the registrar does not report it.")]


class TransferReply(Reply):
    """The state of the transfer of a domain, with its sources."""

    domain_id: Annotated[UUID, doc("Identifier of the domain.")]
    domain: DomainName
    state: Annotated[
        MoveState,
        doc(
            "`none`: no information. `locked`: only the registrar's lock prevents a transfer. `eligible`: nothing "
            "known does, but the lock is not known. An ended transfer is shown for 60 days."
        ),
    ]
    direction: Annotated[TransferDirection | None, doc("Direction of the transfer; null without one.")]
    provider: Annotated[str | None, doc("The connected registrar, or the one that reports.")]
    provider_status: Annotated[str | None, doc("The status in the registrar's own term.")]
    message: Annotated[str | None, doc("The registrar's text.")]
    expected: Annotated[
        bool | None, doc("Whether you prepared the transfer; null if unknown, or if there is none.")
    ]
    locked: Annotated[bool | None, doc("Whether the registrar locks the domain; null: not known.")]
    transferable: Annotated[bool | None, doc("Whether it may move now; null: not known.")]
    eligible_at: EligibleAt
    blocked_by: BlockedBy
    auth_code: Annotated[LastAuthCode, doc("The last request for the auth code. Never the code.")]
    losing_registrar: Annotated[str | None, doc("The losing registrar; null: not known.")]
    gaining_registrar: Annotated[str | None, doc("The gaining registrar; null: not known.")]
    started_at: Annotated[Time, doc("When the transfer began; null without one.")]
    expected_by: Annotated[Time, doc("When it is completed at the latest, by the rules.")]
    completed_at: Annotated[Time, doc("When it was completed, failed or cancelled.")]
    steps: Annotated[list[TransferStep], doc("The steps in their order.")]
    sources: Annotated[list[TransferSource], doc("The queried sources and the time of each query.")]
    rules_applied: Annotated[list[AppliedRule], doc("The rules in force, each with its result.")]


def transfer_reply(situation: Situation) -> TransferReply:
    """Return the state of the transfer of a domain; of a transfer that is no longer shown, nothing."""
    now, domain, known = clock.now(), situation.domain, situation.known
    eligibility, code, observation = situation.decide(now=now), known.code, known.observation
    state = states.state_of(known.move, code, eligibility, now=now)
    move = known.move if state.is_of_move else None
    own = None if situation.connection is None else situation.connection.provider
    provider = (None if move is None else move.provider) or own
    holder = domain.registrar if provider is None else providers.get_profile(provider).label
    is_incoming = move is not None and move.direction is TransferDirection.IN
    former = domain.registrar if own is None else providers.get_profile(own).label
    losing = former if provider != own and former != holder else None  # of an incoming transfer
    has_code = not rules.moves_by_tag(domain.tld, now=now)
    return TransferReply.from_record(
        eligibility,
        domain_id=domain.id,
        domain=domain.domain,
        state=state,
        direction=move and move.direction,
        provider=provider,
        provider_status=move and move.status_raw,
        message=move and move.message,
        expected=move and move.is_expected,
        locked=domain.locked if observation is None or observation.locked is None else observation.locked,
        auth_code=LastAuthCode(
            last_requested_at=code and code.requested_at,
            delivery=code and code.delivery,
            expires_at=code and code.expires_at,
        ),
        losing_registrar=losing if is_incoming else holder,
        gaining_registrar=holder if is_incoming else None,
        started_at=move and move.started_at,
        expected_by=states.expected_by(move, domain.tld, now=now),
        completed_at=move and move.ended_at,
        steps=states.list_steps(state, move, code, eligibility, has_code=has_code),
        sources=_sources(situation, now=now),
    )


def _sources(situation: Situation, *, now: datetime) -> Sequence[TransferSource]:
    observation, registry, domain = situation.known.observation, situation.registry, situation.domain
    is_known = rules.find_scope(domain.tld) is not None
    sources = [
        TransferSource(
            name=SourceName.RDAP,
            checked_at=registry.checked_at,
            ok=registry.checked_at is not None,
            error=None,
        ),
        TransferSource(name=SourceName.PORTFOLIO, checked_at=domain.updated_at, ok=True, error=None),
        TransferSource(name=SourceName.RULES, checked_at=now, ok=is_known, error=None),
    ]
    if observation is None:
        never = TransferSource(name=SourceName.REGISTRAR, checked_at=None, ok=False, error=None)
        return sources if situation.connection is None else [never, *sources]
    is_ok = observation.failure is None
    error = (
        str(RegistrarFailure.NOT_FOUND) if is_ok and observation.status is HeldStatus.GONE else observation.failure
    )
    asked = TransferSource(name=SourceName.REGISTRAR, checked_at=observation.checked_at, ok=is_ok, error=error)
    return [asked, *sources]


@resource("AuthCodeReply", optional={"auth_code": None, "warnings": []})
@dataclass(frozen=True, slots=True, kw_only=True)
class AuthCodeReply(IssuedCode):
    """How the auth code of a domain is delivered, and the code itself where the registrar returns it."""

    warnings: WARNINGS


def auth_code_reply(issued: IssuedCode, options: CodeOptions) -> AuthCodeReply:
    """Return the reply to a request for an auth code."""
    message = "The service cannot do this by an API; see `instructions`."
    warnings = [
        UnknownField(field=name, code="not_done", did_you_mean=None, message=message)
        for name in ("unlock", "regenerate")
        if getattr(options, name)
    ]
    return extended(AuthCodeReply, issued, warnings=warnings)
