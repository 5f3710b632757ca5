"""Events of transfers and auth codes. None holds an auth code."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import Event, declare
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.portfolio.domains.records import Domain
from builders.portfolio.registrars.records import TransferDirection, TransferState
from builders.portfolio.transfers.records import CodeDelivery, Known, MoveState

DomainId = Annotated[UUID, doc("Identifier of the portfolio domain.")]


class AuthCodeData(BaseModel):
    """A request for an auth code, without the code."""

    id: DomainId
    domain: DomainName
    provider: Annotated[str, doc("The registrar.")]
    delivery: Annotated[CodeDelivery, doc("How the code is delivered; `pending` while unknown.")]
    audit_id: Annotated[UUID, doc("The entry of the audit list that names the requester.")]


class TransferData(BaseModel):
    """The state of a domain on its way to another registrar."""

    id: DomainId
    domain: DomainName
    state: Annotated[MoveState, doc("State of the transfer, or of its preparation.")]
    previous: Annotated[MoveState, doc("The state before.")]
    direction: Annotated[TransferDirection | None, doc("Direction of the transfer; null before a transfer.")]
    provider: Annotated[str | None, doc("The registrar that reports it; null without a registrar's report.")]
    provider_status: Annotated[str | None, doc("The status in the reporter's own term.")]
    expected: Annotated[
        bool | None,
        doc(
            "Whether you prepared the transfer: an incoming one, one of a sold domain, or one after a "
            "request for the auth code here. False: contact the registrar at once. Null: unknown."
        ),
    ]
    severity: Annotated[str, doc("`critical` for a transfer that is not expected, else `info`.")]
    started_at: Annotated[datetime | None, doc("When the transfer began; null when unknown.")]
    completed_at: Annotated[datetime | None, doc("When it ended; null while it is pending.")]


AUTH_CODE_REQUESTED = declare(
    name="portfolio.auth_code.requested",
    description="A member requested the auth code of a domain.",
    data=AuthCodeData,
)
AUTH_CODE_DELIVERED = declare(
    name="portfolio.auth_code.delivered",
    description="The auth code was returned to the member, or the registrar sends it by email.",
    data=AuthCodeData,
)
TRANSFER_ELIGIBLE = declare(
    name="portfolio.transfer.eligible",
    description=(
        "No rule prevents a transfer any more; with the state `locked` only the registrar's lock does. Published "
        "for domains whose transfer state or auth code was requested."
    ),
    data=TransferData,
)
TRANSFER_STARTED = declare(
    name="portfolio.transfer.started",
    description="A transfer is under way; `expected` is false for one that you did not prepare.",
    data=TransferData,
)
TRANSFER_STATUS_CHANGED = declare(
    name="portfolio.transfer.status_changed",
    description="The status of a transfer changed while it is under way.",
    data=TransferData,
)
TRANSFER_COMPLETED = declare(
    name="portfolio.transfer.completed",
    description="A transfer was completed.",
    data=TransferData,
)
TRANSFER_FAILED = declare(
    name="portfolio.transfer.failed",
    description="A transfer failed or was cancelled, as `state` shows.",
    data=TransferData,
)
_FREE = frozenset({MoveState.LOCKED, MoveState.ELIGIBLE, MoveState.UNLOCKED, MoveState.AUTH_CODE_ISSUED})


def list_events(before: Known, after: Known) -> Sequence[Event]:
    """Return the events of a change. A transfer that had ended before is not reported."""
    was, move = before.move, after.move
    if move is not None and move.state.is_open:
        if was is None or not was.state.is_open or was.direction is not move.direction:
            return [TRANSFER_STARTED]
        return [TRANSFER_STATUS_CHANGED] if (was.state, was.status_raw) != (move.state, move.status_raw) else []
    if was is not None and was.state.is_open and move is not None:
        return [TRANSFER_COMPLETED if move.state is TransferState.COMPLETED else TRANSFER_FAILED]
    return [TRANSFER_ELIGIBLE] if before.state is MoveState.NOT_ELIGIBLE and after.state in _FREE else []


def transfer_data(domain: Domain, before: Known, after: Known) -> TransferData:
    """Return the data of an event about a transfer."""
    move = after.move if after.move is not None and after.state.is_of_move else None
    is_unexpected = move is not None and move.is_expected is False
    return TransferData(
        id=domain.id,
        domain=domain.domain,
        state=after.state,
        previous=before.state,
        direction=move and move.direction,
        provider=move and move.provider,
        provider_status=move and move.status_raw,
        expected=move and move.is_expected,
        severity="critical" if is_unexpected else "info",
        started_at=move and move.started_at,
        completed_at=move and move.ended_at,
    )
