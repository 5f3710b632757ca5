"""The body that records a renewal."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from builders.kit.http.bodies import Body
from builders.kit.values import clock
from builders.kit.values.days import Day
from builders.kit.values.money import MoneyInput
from builders.portfolio.finance.fields import CURRENCY, Currency, Memo, Moment, Registrar, Text
from builders.portfolio.finance.records import NewRenewal
from builders.portfolio.ledger.records import EntryKind


class RenewalCreate(Body):
    """A paid renewal. Only the amount is required."""

    amount: Annotated[MoneyInput, Field(description="The paid amount for all years.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    renewed_on: Annotated[Day | None, Field(description="Day of the payment; today by default.")] = None
    years: Annotated[StrictInt, Field(ge=1, le=10, description="Number of added years.")] = 1
    new_expires_at: Annotated[
        Moment | None,
        Field(description="The new expiry; by default the expiry of the domain plus the years."),
    ] = None
    registrar: Annotated[
        Registrar | None, Field(description="Registrar of the renewal; by default that of the domain.")
    ] = None
    order_ref: Annotated[Text | None, Field(description="Number of the order or invoice.")] = None
    kind: Annotated[
        Literal["renewal", "redemption"],
        Field(description="`redemption`: the domain was restored after its deletion."),
    ] = "renewal"
    memo: Annotated[Memo | None, Field(description="Your own text.")] = None

    def renewal(self, base_currency: str) -> NewRenewal:
        """Return the record. Raise Invalid."""
        return NewRenewal(
            money=self.amount.to_money(self.currency, base_currency, field="amount"),
            renewed_on=self.renewed_on or clock.now().date(),
            years=self.years,
            kind=EntryKind(self.kind),
            new_expires_at=self.new_expires_at,
            registrar=self.registrar,
            order_ref=self.order_ref,
            memo=self.memo,
        )
