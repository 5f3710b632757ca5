"""Lines of bills as charges: one for each domain, with its part of the amounts and the key that identifies it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal

from builders.kit.values import texts
from builders.kit.values.money import Money, decimals_of
from builders.portfolio.billing import bill_text
from builders.portfolio.billing.records import (
    MAX_DESCRIPTION,
    MAX_TEXT,
    MAX_YEARS,
    NameOrigin,
    NewCharge,
    Origin,
)
from builders.portfolio.registrars.records import BilledLine, ChargeKind

FIRST_DAY, LAST_DAY = date(1985, 1, 1), date(2999, 12, 31)  # of charges; no domain was sold before
AMOUNT_LIMIT = Decimal(10) ** 15  # amounts are less
MAX_DOMAINS = 1_000  # of a line
_CURRENCY = re.compile(r"[A-Z]{3}")
Prices = Mapping[str, Money]  # of a year, by domain
Paid = Mapping[str, Mapping[str, Decimal]]  # by order, by domain


def list_names_of(line: BilledLine) -> tuple[Sequence[str | None], NameOrigin]:
    """Return the names that share a line, as written, and where they are; one None when it names none."""
    written = [name for each in line.domains for name in bill_text.split_field(each)]
    named = list({bill_text.find_name(each) or each.lower(): each for each in reversed(written)}.values())[::-1]
    if len(named) > 1:
        return named, NameOrigin.ITEM
    if named:
        return named, NameOrigin.FIELD
    listed = bill_text.list_names(line.description)
    return (listed, NameOrigin.TEXT) if listed else ((None,), NameOrigin.TEXT)


def charges_of(line: BilledLine, *, origin: Origin, prices: Prices, paid: Paid) -> Sequence[NewCharge]:
    """Return the charge of each domain of a line.

    The parts of a renewal have the ratio of the prices of its domains, the parts of a refund the ratio of the
    amounts `paid` for them; other parts are equal. The key holds the total of the line and not the part, which
    depends on prices that change. Only a negative amount is a refund.
    """
    written, name_origin = list_names_of(line)
    domains = [bill_text.read_names(each, line.description).best for each in written]
    weights = _weights(line, domains, prices, paid)
    whole = Money(line.total, line.currency).quantized().amount
    amounts = (Money(each, line.currency).quantized().amount for each in (line.total, line.tax, line.fees))
    totals, taxes, fees = (split(each, line.currency, weights=weights) for each in amounts)
    kind = ChargeKind.OTHER if line.kind is ChargeKind.REFUND else line.kind
    identity = (origin.provider, origin.account, line.order_id, line.line_id)
    charged = (line.kind.value, f"{whole:f}", line.currency)
    return [
        NewCharge(
            key=hashlib.sha256("\x1f".join((*identity, domain or raw or "", *charged)).encode()).digest(),
            provider=origin.provider,
            connection_id=origin.connection_id,
            order_id=_plain(line.order_id, MAX_TEXT),
            line_id=_plain(line.line_id, MAX_TEXT),
            parent_order_id=None if line.parent_order_id is None else _plain(line.parent_order_id, MAX_TEXT),
            charged_on=line.charged_on,
            description=_plain(line.description, MAX_DESCRIPTION),
            domain_raw=None if raw is None else _plain(raw, MAX_TEXT),
            name_origin=name_origin,
            domain=domain,
            kind=ChargeKind.REFUND if line.total < 0 else kind,
            years=line.years if line.years and 1 <= line.years <= MAX_YEARS else None,
            total=total,
            tax=tax,
            fees=fee,
            currency=line.currency,
        )
        for raw, domain, total, tax, fee in zip(written, domains, totals, taxes, fees, strict=True)
    ]


def is_storable(line: BilledLine) -> bool:
    """Return whether a line of a registrar is that of a bill.

    One that is not has the currency, amount or day of no charge, or too many domains.
    """
    amounts = (line.total, line.tax, line.fees)
    is_exact = all(each.is_finite() and abs(each) < AMOUNT_LIMIT for each in amounts)
    is_dated = FIRST_DAY <= line.charged_on <= LAST_DAY
    is_named = _CURRENCY.fullmatch(line.currency) is not None
    return is_exact and is_dated and is_named and len(line.domains) <= MAX_DOMAINS


def number_repeats(lines: Sequence[BilledLine]) -> Iterator[BilledLine]:
    """Yield the lines of a file with line ids: equal rows without ids are numbered, so that each counts.

    A row without an order uses its day.
    """
    seen: dict[object, int] = {}
    for line in lines:
        if line.line_id:
            yield line
            continue
        same = (line.order_id or line.charged_on, line.domains, line.description, line.kind, line.total)
        seen[same] = seen.get(same, 0) + 1
        what = "" if line.domains else hashlib.sha256(line.description.encode()).hexdigest()[:8]
        day = "" if line.order_id else line.charged_on.isoformat()
        yield replace(line, line_id=" ".join(each for each in (day, what, str(seen[same])) if each))


def _weights(line: BilledLine, domains: Sequence[str | None], prices: Prices, paid: Paid) -> Sequence[Decimal]:
    """Return the amounts whose ratio the parts have when all are known; else zero, for equal parts."""
    if line.kind is ChargeKind.RENEWAL:
        known = {name: each.amount for name, each in prices.items() if each.currency == line.currency}
    else:
        known = dict(paid.get(line.parent_order_id or "", {}))
    if all(each in known for each in domains):
        return [known[each] for each in domains if each is not None]
    return [Decimal(0)] * len(domains)


def _plain(text: str, max_length: int) -> str:
    """Return a text on one line without control characters, cut to its limit."""
    return " ".join(texts.cleaned(text[: bill_text.MAX_READ]).split())[:max_length]


def split(total: Decimal, currency: str, *, weights: Sequence[Decimal]) -> Sequence[Decimal]:
    """Return the parts of a total, which add up to it; the first part gets what cannot be divided.

    The weights are zero or more; equal parts when all are zero.
    """
    decimals = decimals_of(currency)
    coins = int(abs(total).scaleb(decimals).to_integral_value())
    whole = sum(weights, Decimal(0))
    shares = list(weights) if whole else [Decimal(1)] * len(weights)
    whole = whole or Decimal(len(weights))
    parts = [int(coins * each / whole) for each in shares]
    parts[0] += coins - sum(parts)
    sign = -1 if total < 0 else 1
    return [Decimal(sign * each).scaleb(-decimals) for each in parts]
