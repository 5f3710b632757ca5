"""Requests of renewals."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, ClassVar

from pydantic import AliasChoices, Field, StrictBool, StrictInt, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from builders.kit.errors import CURRENCY_PATTERN, Invalid
from builders.kit.http.bodies import ABSENT, NOT_NULL, PatchBody
from builders.kit.http.bulk import RefusedRow, RowOf
from builders.kit.rows import RowOutcome, RowResult, row_problems
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.money import MoneyInput
from builders.portfolio.domains.fields import ShownDigest
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.renewals import records
from builders.portfolio.renewals.records import CalendarPeriod, DecisionPatch, DecisionRow

DomainText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2048)]
Note = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_NOTE), texts.Plain
]


class RenewalChange(PatchBody, extra="forbid"):
    """A decision about a renewal, as a merge patch: absent members keep their value, null clears."""

    conditions: ClassVar[frozenset[str]] = frozenset({"currency"})

    decision: Annotated[
        RenewalDecision, doc("The action at the next expiry. A renewal makes the decision obsolete."), NOT_NULL
    ] = ABSENT
    years: Annotated[
        Annotated[StrictInt, Field(ge=1, le=records.MAX_YEARS)] | None,
        doc("Years to renew for; null: not decided, counted as one."),
    ] = None
    note: Annotated[Note | None, doc("The team's note about the decision; null removes it.")] = None
    snooze_until: Annotated[date | None, doc("First day of reminders of this renewal; null: the usual day.")] = (
        None
    )
    auto_renew: Annotated[StrictBool | None, doc("Auto-renew setting of the domain; null: unknown.")] = None
    renewal_price: Annotated[MoneyInput | None, doc("Price of one more year of the domain; null: unknown.")] = None
    currency: Annotated[
        Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)] | None,
        doc("ISO 4217 code of a price without one."),
    ] = None

    def patch(self) -> DecisionPatch:
        """Return the record. Raise Invalid for a price without a currency."""
        sent = self.patches("decision", "years", "note", "snooze_until", "auto_renew", "renewal_price")
        if self.renewal_price is not None:
            sent["renewal_price"] = self.renewal_price.to_money(self.currency, field="renewal_price")
        return DecisionPatch(**sent)


class RenewalItem(RenewalChange):
    """A decision about the renewal of a domain."""

    conditions: ClassVar[frozenset[str]] = frozenset({"domain_id", "currency"})

    domain_id: Annotated[
        DomainText,
        Field(
            validation_alias=AliasChoices("domain_id", "domain"),
            description="A domain of the portfolio: its identifier, or its name in either form.",
        ),
    ]


Item = Annotated[RenewalItem | RefusedRow, RowOf(RenewalItem)]


class RenewalsBulkUpdate(PatchBody):
    """Decisions for many domains: `items`, or `domains` with one decision in `set`."""

    refuses_similar = True
    conditions: ClassVar[frozenset[str]] = frozenset({"digest", "dry_run", "push_to_registrar"})

    items: Annotated[
        list[Item] | None,
        Field(
            min_length=1,
            max_length=records.MAX_ROWS,
            description="Decisions; an invalid decision does not affect the others.",
        ),
    ] = None
    domains: Annotated[
        list[DomainText] | None,
        Field(
            min_length=1,
            max_length=records.MAX_ROWS,
            description="Domains of the portfolio, by name or identifier; give `set`, too.",
        ),
    ] = None
    set: Annotated[RenewalChange | None, doc("The decision for all `domains`.")] = None
    push_to_registrar: Annotated[
        StrictBool,
        doc(
            "Whether to switch auto-renew at the registrars: to `auto_renew`, otherwise on for `renew` and "
            "off for `drop`. The decisions are recorded even if a registrar fails."
        ),
    ] = False
    dry_run: Annotated[StrictBool, doc("Report the effect without any change.")] = False
    digest: ShownDigest = None

    @model_validator(mode="after")
    def _require_one_form(self) -> "RenewalsBulkUpdate":
        has_set = self.domains is not None and self.set is not None
        has_part = self.domains is not None or self.set is not None
        if has_part == (self.items is not None) or has_part != has_set:
            raise PydanticCustomError("renewals_form", "Send `items`, or `domains` with `set`.")
        return self

    def rows(self) -> list[DecisionRow | RowResult]:
        """Return a record for each row, or its result when it is refused. Raise Invalid for `set`."""
        if self.items is None:
            patch = (self.set or RenewalChange(decision=RenewalDecision.UNDECIDED)).patch()
            return [
                DecisionRow(index=index, domain=domain, patch=patch)
                for index, domain in enumerate(self.domains or ())
            ]
        return [_row(index, item) for index, item in enumerate(self.items)]


def _row(index: int, item: RenewalItem | RefusedRow) -> DecisionRow | RowResult:
    if isinstance(item, RefusedRow):
        named = item.sent.get("domain_id", item.sent.get("domain")) if isinstance(item.sent, Mapping) else None
        domain, errors = named if isinstance(named, str) else None, item.errors
    else:
        try:
            return DecisionRow(index=index, domain=item.domain_id, patch=item.patch())
        except Invalid as invalid:
            domain, errors = item.domain_id, row_problems(invalid)
    return RowResult(outcome=RowOutcome.ERROR, index=index, domain=domain, errors=errors)


def calendar_period(*, year: int | None, month: int | None, part: int) -> CalendarPeriod:
    """Return the period of a calendar. Raise Invalid for a month without a year, and a part without a month."""
    if month is not None and year is None:
        raise Invalid(("query", "year"), "Send `year` with `month`.", "year_missing")
    if part > 1 and month is None:
        raise Invalid(("query", "month"), "Send `year` and `month` with `part`.", "month_missing")
    return CalendarPeriod(year=year, month=month, part=part)
