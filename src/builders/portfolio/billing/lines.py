"""Lines of bills as charges: one for each domain, with the key that identifies it."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from uuid import UUID

from builders.kit.values import texts
from builders.kit.values.money import Money
from builders.portfolio.billing import names
from builders.portfolio.billing.records import MAX_DESCRIPTION, MAX_TEXT, MAX_YEARS, NameOrigin, NewCharge
from builders.portfolio.billing.splitting import split
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import BilledLine, ChargeKind

FIRST_DAY, LAST_DAY = date(1985, 1, 1), date(2999, 12, 31)  # of charges; no domain was sold before
AMOUNT_LIMIT = Decimal(10) ** 15  # amounts are less
MAX_DOMAINS = 1_000  # of a line
_CURRENCY = re.compile(r"[A-Z]{3}")
Prices = Mapping[str, Money]  # of a year, by domain
Paid = Mapping[str, Mapping[str, Decimal]]  # by order, by domain


def list_names_of(line: BilledLine) -> tuple[Sequence[str | None], NameOrigin]:
    """Return the names that share a line, as written, and where they are; one None when it names none."""
    written = [name for each in line.domains for name in names.split_field(each)]
    named = list({names.find_name(each) or each.lower(): each for each in reversed(written)}.values())[::-1]
    if len(named) > 1:
        return named, NameOrigin.ITEM
    if named:
        return named, NameOrigin.FIELD
    listed = names.list_names(line.description)
    return (listed, NameOrigin.TEXT) if listed else ((None,), NameOrigin.TEXT)


def charges_of(
    line: BilledLine, *, provider: str, account: str, connection_id: UUID | None, prices: Prices, paid: Paid
) -> Iterator[NewCharge]:
    """Yield the charge of each domain of a line.

    The parts of a renewal have the ratio of the prices of its domains, the parts of a refund the ratio of the
    amounts `paid` for them; other parts are equal. `account` distinguishes several accounts at the provider. The
    key holds the total of the line and not the part, which depends on prices that change.
    """
    written, origin = list_names_of(line)
    found = [names.read_names(each, line.description).best for each in written]
    weights = _weights(line, found, prices, paid)
    total, tax, fees = (
        split(Money(each, line.currency).quantized().amount, line.currency, weights=weights)
        for each in (line.total, line.tax, line.fees)
    )
    identity = (provider, account, line.order_id, line.line_id)
    charged = (line.kind.value, f"{Money(line.total, line.currency).quantized().amount:f}", line.currency)
    for at, (raw, domain) in enumerate(zip(written, found, strict=True)):
        yield NewCharge(
            key=_key(*identity, domain or raw or "", *charged),
            provider=provider,
            connection_id=connection_id,
            order_id=_plain(line.order_id, MAX_TEXT),
            line_id=_plain(line.line_id, MAX_TEXT),
            parent_order_id=None if line.parent_order_id is None else _plain(line.parent_order_id, MAX_TEXT),
            charged_on=line.charged_on,
            description=_plain(line.description, MAX_DESCRIPTION),
            domain_raw=None if raw is None else _plain(raw, MAX_TEXT),
            name_origin=origin,
            domain=domain,
            kind=_kind(line),
            years=line.years if line.years and 1 <= line.years <= MAX_YEARS else None,
            total=total[at],
            tax=tax[at],
            fees=fees[at],
            currency=line.currency,
        )


def require_storable(line: BilledLine) -> BilledLine:
    """Return the line of a registrar. Raise RegistrarFailed for a line that no bill has.

    That is a line with the currency, amount or day of no charge, or with too many domains.
    """
    amounts = (line.total, line.tax, line.fees)
    is_exact = all(each.is_finite() and abs(each) < AMOUNT_LIMIT for each in amounts)
    is_dated = FIRST_DAY <= line.charged_on <= LAST_DAY
    if not (is_exact and is_dated and _CURRENCY.fullmatch(line.currency) and len(line.domains) <= MAX_DOMAINS):
        raise RegistrarFailed(RegistrarFailure.MALFORMED)
    return line


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


def _weights(line: BilledLine, found: Sequence[str | None], prices: Prices, paid: Paid) -> Sequence[Decimal]:
    """Return the amounts whose ratio the parts have when all are known; else zero, for equal parts."""
    if line.kind is ChargeKind.RENEWAL:
        known = {name: each.amount for name, each in prices.items() if each.currency == line.currency}
    else:
        known = dict(paid.get(line.parent_order_id or "", {}))
    if all(each in known for each in found):
        return [known[each] for each in found if each is not None]
    return [Decimal(0)] * len(found)


def _kind(line: BilledLine) -> ChargeKind:
    """Return the kind of a line; only a negative amount is a refund."""
    if line.total < 0:
        return ChargeKind.REFUND
    return ChargeKind.OTHER if line.kind is ChargeKind.REFUND else line.kind


def _plain(text: str, max_length: int) -> str:
    """Return a text on one line without control characters, cut to its limit."""
    return " ".join(texts.cleaned(text[: names.MAX_READ]).split())[:max_length]


def _key(*parts: str) -> bytes:
    return hashlib.sha256("\x1f".join(parts).encode()).digest()
