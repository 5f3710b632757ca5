"""Records of finance as replies. Figures are rounded here, and nowhere before."""

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from types import MappingProxyType
from typing import Any

from builders.kit.http.bodies import UnknownField
from builders.kit.values.money import Money
from builders.portfolio.finance.calculation import FigureWarning
from builders.portfolio.finance.records import (
    ChangedFinance,
    DomainFinance,
    HoldingPeriod,
    RecordedRenewal,
    RenewalNotice,
)
from builders.portfolio.finance.schemas.figures import (
    MAX_SHOWN,
    FinanceChangeReply,
    FinanceEntryReply,
    FinanceIncomeReply,
    FinancePaymentReply,
    FinancePeriodReply,
    FinanceRecommendationReply,
    FinanceReply,
    FinanceSaleReply,
    FinanceWritten,
    NextRenewalReply,
    RenewalRecorded,
    RenewedDomainReply,
)
from builders.portfolio.ledger.records import Entry

RATE = Decimal("0.000001")  # decimals of a rate
_wide = Context(prec=60)  # digits of a rate with all decimals, which the default context refuses
# The member that a warning is about, and its sentence.
MESSAGES: Mapping[FigureWarning | RenewalNotice, tuple[str, str]] = MappingProxyType(
    {
        FigureWarning.SHORT_HOLDING: (
            "annualized_roi",
            "Held for less than 30 days: annual rates are not meaningful.",
        ),
        FigureWarning.UNCONVERTED_ENTRIES: (
            "unconverted",
            "Entries without an exchange rate are excluded from the figures.",
        ),
        FigureWarning.UNCONVERTED_PRICES: ("recommendation", "A price of the domain has no exchange rate."),
        FigureWarning.UNKNOWN_START: ("holding_days", "The start of the holding is unknown."),
        RenewalNotice.LIKELY_DUPLICATE: ("duplicate_of", "An earlier entry is likely the same renewal."),
        RenewalNotice.EXPIRY_UNKNOWN: (
            "new_expires_at",
            "The expiry of the domain is unknown and did not change.",
        ),
        RenewalNotice.EXPIRY_CAPPED: (
            "years",
            "The expiry was extended by less: a registration lasts 10 years at most.",
        ),
        RenewalNotice.EXPIRY_EARLIER: ("new_expires_at", "The new expiry is before the previous one."),
    }
)
_REDACTED: Mapping[str, Any] = MappingProxyType(
    {
        **dict.fromkeys(FinancePeriodReply.model_fields.keys() - {"holding_days"}),
        **dict.fromkeys(("unrealized_profit", "estimated_value", "asking_price", "breakeven_price")),
        **dict.fromkeys(("entries_count", "recommendation")),
        **{name: [] for name in ("entries", "earlier_periods", "unconverted", "warnings")},
        "redacted": ["finance"],
    }
)


def finance_reply(finance: DomainFinance, *, shows_finance: bool, year: int | None = None) -> FinanceReply:
    """Return the finance of a domain with the entries of a year; without money for a role without finance."""
    reply = FinanceReply(**_members(finance, year=year))
    if shows_finance:
        return reply
    renewal = reply.next_renewal
    hidden = {"price": None, "price_source": None}
    next_renewal = None if renewal is None else renewal.model_copy(update=hidden)
    return reply.model_copy(update={**_REDACTED, "next_renewal": next_renewal})


def written_reply(changed: ChangedFinance) -> FinanceWritten:
    """Return the finance of a domain after a change; who changes it sees it."""
    changes = [FinanceChangeReply.from_record(each) for each in changed.changes]
    return FinanceWritten(**_members(changed.finance), changes=changes)


def recorded_reply(recorded: RecordedRenewal, finance: DomainFinance) -> RenewalRecorded:
    """Return a recorded renewal, with the figures after it."""
    before, after = recorded.previous_expires_at, recorded.domain.expires_at
    return RenewalRecorded(
        entry=_entry(recorded.entry),
        domain=RenewedDomainReply.from_record(recorded.domain),
        expiry_advanced_by_days=0 if before is None or after is None else (after - before).days,
        duplicate_of=recorded.duplicate_of,
        finance=finance_reply(finance, shows_finance=True),
        warnings=_warnings(recorded.notices),
    )


def _members(finance: DomainFinance, *, year: int | None = None) -> dict[str, Any]:
    domain, figures = finance.domain, finance.present.figures
    entries = [each for each in finance.entries if year in {None, each.occurred_on.year}]
    return {
        **_figures(finance.present, finance),
        "domain_id": domain.id,
        "domain": domain.domain,
        "status": domain.status,
        "base_currency": finance.base_currency,
        "as_of": finance.as_of,
        **{name: _money(getattr(figures, name), finance) for name in ("unrealized_profit", "breakeven_price")},
        "estimated_value": domain.estimated_value,
        "asking_price": domain.asking_price,
        "earlier_periods": [FinancePeriodReply(**_figures(each, finance)) for each in finance.begun[:-1]],
        "next_renewal": None
        if finance.next_renewal is None
        else NextRenewalReply.from_record(finance.next_renewal),
        "entries": [_entry(each) for each in entries[-MAX_SHOWN:]],
        "entries_count": len(finance.entries),
        "unconverted": [entry.id for each in finance.begun for entry in each.figures.unconverted],
        "recommendation": _recommendation(finance),
        "warnings": _warnings(finance.warnings),
        "redacted": [],
    }


def _figures(period: HoldingPeriod, finance: DomainFinance) -> dict[str, Any]:
    """Return the members of a holding period."""
    figures = period.figures
    amounts = ("cost_basis", "carrying_cost", "refunds", "total_cost", "realized_profit", "net_position")
    incomes = {name: _money(getattr(figures.income, name), finance) for name in ("parking", "lease", "other")}
    return {
        **{name: _money(getattr(figures, name), finance) for name in amounts},
        "income": FinanceIncomeReply.model_validate(incomes),
        "sale": _sale(period, finance),
        **{name: _rate(getattr(figures, name)) for name in ("roi", "annualized_roi", "xirr")},
        "xirr_reason": figures.xirr_reason,
        "holding_days": figures.holding_days,
    }


def _money(amount: Decimal | None, finance: DomainFinance) -> Money | None:
    return None if amount is None else Money(amount, finance.base_currency).quantized()


def _rate(value: Decimal | None) -> float | None:
    return None if value is None else float(value.quantize(RATE, context=_wide))


def _sale(period: HoldingPeriod, finance: DomainFinance) -> FinanceSaleReply | None:
    figures, sale, terms = period.figures.sale, period.sale, period.terms
    if figures is None:
        return None
    payments = () if terms is None else terms.installments
    outstanding = None
    if terms is not None:
        due = (each.money for each in payments if each.on > finance.as_of)
        outstanding = sum(due, start=Money.zero(terms.gross.currency))
    return FinanceSaleReply.model_validate(
        {
            "id": None if sale is None else sale.id,
            **{name: _money(getattr(figures, name), finance) for name in ("gross", "costs", "net")},
            "price": None if terms is None else terms.gross,
            "outstanding": outstanding,
            "commission_rate": None if sale is None else _rate(sale.commission_rate),
            "own_share": 1.0 if sale is None else float(sale.own_share),
            "sold_on": figures.sold_on,
            "venue": None if sale is None else sale.venue,
            "buyer_ref": None if sale is None else sale.buyer_ref,
            "installments": [FinancePaymentReply(amount=each.money, on=each.on) for each in payments],
        }
    )


def _recommendation(finance: DomainFinance) -> FinanceRecommendationReply | None:
    advice = finance.recommendation
    if advice is None:
        return None
    return FinanceRecommendationReply(
        advice=advice.advice,
        score=advice.score,
        expected_gain=_money(advice.expected_gain, finance),
        reasons=list(advice.reasons),
    )


def _entry(entry: Entry) -> FinanceEntryReply:
    return FinanceEntryReply.from_record(
        entry,
        amount=entry.money,
        signed_amount=entry.signed_money,
        reference=entry.reference or entry.order_ref,
        fx_rate=None if entry.fx_rate is None else f"{entry.fx_rate.normalize():f}",
        base_amount=entry.base_money,
    )


def _warnings(found: Iterable[FigureWarning | RenewalNotice]) -> list[UnknownField]:
    return [
        UnknownField(field=MESSAGES[each][0], code=each.value, did_you_mean=None, message=MESSAGES[each][1])
        for each in found
    ]
