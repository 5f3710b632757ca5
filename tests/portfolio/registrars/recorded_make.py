"""Rows that the documented examples of a registrar stand for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from builders.portfolio.registrars.records import BilledLine, ChargeKind, HeldDomain


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What the examples of a registrar stand for."""

    held: Sequence[HeldDomain]
    detail: HeldDomain | None = None  # None: the API has no request for one domain
    charges: Sequence[BilledLine] = field(default_factory=tuple)  # none: the API has no bills


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def held(domain: str, created: str | None, expires: str | None, **more: Any) -> HeldDomain:
    return HeldDomain(
        domain=domain,
        created_at=None if created is None else at(created),
        expires_at=None if expires is None else at(expires),
        **more,
    )


def charge(order_id: str, line_id: str, on: str, total: str, *domains: str, **more: Any) -> BilledLine:
    values: dict[str, Any] = {"currency": "USD", "kind": ChargeKind.RENEWAL, "description": ""}
    return BilledLine(
        order_id=order_id,
        line_id=line_id,
        charged_on=date.fromisoformat(on),
        total=Decimal(total),
        domains=domains,
        **(values | more),
    )
