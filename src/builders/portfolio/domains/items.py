"""The items of a page: what PostgreSQL wrote, completed by the members that are computed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from builders.portfolio.domains.lifecycle import days_to_expiry, find_state
from builders.portfolio.domains.records import DomainFields, PortfolioDomainStatus
from builders.portfolio.domains.store.pages import ListedRow
from builders.portfolio.ledger.records import Totals

_REDACTED = '["finance"]'


def write(rows: Sequence[ListedRow], *, totals: Mapping[UUID, Totals] | None, now: datetime) -> str:
    """Return the JSON array of the items; without totals, `redacted` says that money is left out."""
    return f"[{','.join(_write(row, None if totals is None else totals[row.id], now) for row in rows)}]"


def _write(row: ListedRow, totals: Totals | None, now: datetime) -> str:
    fields = DomainFields(
        status=PortfolioDomainStatus(row.status), expires_at=row.expires_at, epp_statuses=row.epp_statuses
    )
    state = find_state(fields, tld=row.tld, now=now).lifecycle
    lifecycle = "null" if state is None else f'"{state}"'
    days = days_to_expiry(row.expires_at, now)
    return (
        f'{row.json[:-1]},"days_to_expiry":{"null" if days is None else days},"lifecycle":{lifecycle},'
        f'"finance":{_finance(totals)},"redacted":{"[]" if totals else _REDACTED}}}'
    )


def _finance(totals: Totals | None) -> str:
    if totals is None:
        return "null"
    cost, net = totals.total_cost.to_wire(), totals.net_position.to_wire()
    return (
        f'{{"total_cost":{{"amount":"{cost["amount"]}","currency":"{cost["currency"]}"}},'
        f'"net_position":{{"amount":"{net["amount"]}","currency":"{net["currency"]}"}},'
        f'"unconverted":{totals.unconverted}}}'
    )
