"""Transfers of the tests."""

from datetime import UTC, datetime, timedelta

from builders.kit.values import ids
from builders.portfolio.domains.records import Domain
from builders.portfolio.registrars.records import TransferDirection, TransferState
from builders.portfolio.transfers import moves
from builders.portfolio.transfers.records import CodeDelivery, CodeRequest, Move
from builders.portfolio.transfers.rule_records import FactSource, TimeFact, TransferFacts

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DOMAIN = Domain(
    id=ids.new(),
    domain="harbour.com",
    unicode="harbour.com",
    tld="com",
    lifecycle=None,
    created_at=NOW,
    updated_at=NOW,
)
OLD = TimeFact(at=NOW - 900 * DAY, known_from=FactSource.RDAP)
FREE = TransferFacts(tld="com", created=OLD, is_unlocked=True)
OUT, IN = TransferDirection.OUT, TransferDirection.IN
REQUEST = CodeRequest(requested_at=NOW - DAY, delivery=CodeDelivery.RETURNED)


def move(
    state: TransferState,
    direction: TransferDirection = OUT,
    provider: str | None = "gandi",
    started_at: datetime | None = NOW - 2 * DAY,
    ended_at: datetime | None = None,
) -> Move:
    return Move(
        direction=direction,
        state=state,
        status_raw=state,
        provider=provider,
        started_at=started_at,
        ended_at=ended_at,
    )


def merged(
    before: Move | None,
    said: Move | None,
    *,
    domain: Domain = DOMAIN,
    code: CodeRequest | None = None,
    now: datetime = NOW,
) -> Move | None:
    return moves.merge_move(before, said, domain=domain, code=code, now=now)
