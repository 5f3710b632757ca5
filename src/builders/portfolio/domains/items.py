"""The items of a page: what PostgreSQL wrote, completed by the members that are computed."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from uuid import UUID

from builders.kit.values.money import Money
from builders.portfolio.domains.lifecycle import days_to_expiry, find_held_state
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.domains.store.pages import ListedRow
from builders.portfolio.ledger.records import Totals

_REDACTED = '["finance"]'


def write(rows: Sequence[ListedRow], *, totals: Mapping[UUID, Totals] | None, now: datetime) -> str:
    """Return the JSON array of the items; without totals, `redacted` reports that money is omitted."""
    return f"[{','.join(_write(row, None if totals is None else totals[row.id], now) for row in rows)}]"


def _write(row: ListedRow, totals: Totals | None, now: datetime) -> str:
    state = None
    if PortfolioDomainStatus(row.status).is_held:
        state = find_held_state(row.tld, row.expires_at, row.epp_statuses, now=now).lifecycle
    lifecycle = "null" if state is None else f'"{state.value}"'
    days = days_to_expiry(row.expires_at, now)
    return (
        f'{row.json[:-1]},"days_to_expiry":{"null" if days is None else days},"lifecycle":{lifecycle},'
        f'"finance":{_finance(totals)},"redacted":{"[]" if totals else _REDACTED}}}'
    )


def _finance(totals: Totals | None) -> str:
    if totals is None:
        return "null"
    if not totals.entries:
        return _nothing(totals.base_currency)
    cost, net = totals.total_cost, totals.net_position
    return (
        f'{{"total_cost":{{"amount":"{cost.amount:f}","currency":"{cost.currency}"}},'
        f'"net_position":{{"amount":"{net.amount:f}","currency":"{net.currency}"}},'
        f'"unconverted":{totals.unconverted}}}'
    )


@cache
def _nothing(currency: str) -> str:
    """Return the totals of a domain without entries, as most are after an import."""
    zero = Money.zero(currency).to_wire()
    return json.dumps({"total_cost": zero, "net_position": zero, "unconverted": 0}, separators=(",", ":"))
