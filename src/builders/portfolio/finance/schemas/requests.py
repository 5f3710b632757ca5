"""The body that changes the finance of a domain."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StrictBool

from builders.kit.http.bodies import Body, PatchBody
from builders.kit.values import clock
from builders.kit.values.days import Day
from builders.kit.values.money import Money, MoneyInput
from builders.kit.values.patches import UNSET, Patch
from builders.portfolio.finance.fields import (
    ABSENT,
    CURRENCY,
    NOT_NULL,
    Currency,
    Memo,
    Notes,
    Rate,
    Reference,
    Registrar,
    Text,
    Years,
)
from builders.portfolio.finance.records import (
    DOMAIN_MEMBERS,
    MAX_ENTRIES,
    AcquisitionPatch,
    AddedEntry,
    FinanceChange,
    SalePatch,
)
from builders.portfolio.ledger.records import MAX_TERMS, EntryKind, Payment, SaleFee


class AcquisitionUpdate(PatchBody):
    """The acquisition of the domain. It replaces the entry of the acquisition."""

    conditions = frozenset({"currency"})

    amount: Annotated[
        MoneyInput, Field(description="The paid amount; required for the first record."), NOT_NULL
    ] = ABSENT
    currency: Annotated[Currency | None, CURRENCY] = None
    on: Annotated[
        Day,
        Field(
            description=(
                "Day of the payment; by default the day of acquisition or registration of the domain, else today. "
                "After the sale: it was bought back."
            )
        ),
        NOT_NULL,
    ] = ABSENT
    kind: Annotated[
        Literal["acquisition", "registration"],
        Field(description="`registration`: you registered the domain; you did not buy it from a holder."),
        NOT_NULL,
    ] = ABSENT
    venue: Annotated[Text | None, Field(description="Marketplace or seller; stored as the memo of the entry.")] = (
        None
    )

    def patch(self, base_currency: str) -> AcquisitionPatch:
        """Return the record. Raise Invalid."""
        amount = self.amount
        money = (
            None if amount is None else amount.to_money(self.currency, base_currency, field="acquisition.amount")
        )
        return AcquisitionPatch(
            money=UNSET if money is None else money,
            kind=self.patch_of("kind", self.kind and EntryKind(self.kind)),
            **self.patches("on", "venue"),
        )


class SaleFeeCreate(Body):
    """Costs of the seller besides the commission."""

    kind: Annotated[
        Literal["marketplace_fee", "escrow_fee", "tax", "other_cost"],
        Field(description="Kind of the payment."),
    ] = "marketplace_fee"
    amount: Annotated[MoneyInput, Field(description="The paid amount.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    on: Annotated[Day | None, Field(description="Day; by default the day of the sale.")] = None


class InstallmentCreate(Body):
    """A payment of the buyer."""

    amount: Annotated[MoneyInput, Field(description="The paid amount, in the currency of the price.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    on: Annotated[Day, Field(description="When it is due; from that day on it counts as received.")]


class SaleUpdate(PatchBody):
    """The sale of the domain. An absent member keeps its value; an array replaces the stored array."""

    conditions = frozenset({"id", "currency"})

    id: Annotated[
        UUID | None,
        Field(description="Identifier of an earlier sale; by default the present one."),
    ] = None
    gross: Annotated[
        MoneyInput, Field(description="The price before all costs; required for the first record."), NOT_NULL
    ] = ABSENT
    currency: Annotated[Currency | None, CURRENCY] = None
    sold_on: Annotated[Day, Field(description="Day of the sale; by default today."), NOT_NULL] = ABSENT
    commission: Annotated[
        MoneyInput | None, Field(description="A fixed commission, paid on the day of the sale.")
    ] = None
    commission_rate: Annotated[
        Rate | None, Field(description="Part of the price that is the commission, such as 0.15; of each payment.")
    ] = None
    fees: Annotated[
        Annotated[list[SaleFeeCreate], Field(max_length=MAX_TERMS)] | None,
        Field(description="Your costs besides the commission."),
    ] = None
    venue: Annotated[Text | None, Field(description="The marketplace of the sale.")] = None
    buyer_ref: Annotated[Text | None, Field(description="Your own reference to the buyer.")] = None
    installments: Annotated[
        Annotated[list[InstallmentCreate], Field(max_length=MAX_TERMS)] | None,
        Field(description="Instalments. The remainder is paid on the day of the sale."),
    ] = None

    def patch(self, base_currency: str) -> SalePatch:
        """Return the record. Raise Invalid."""
        gross = self.gross
        own = self.currency or (None if gross is None else gross.currency)

        def money(value: MoneyInput, field: str, currency: str | None = None) -> Money:
            return value.to_money(currency, own, base_currency, field=f"sale.{field}")

        commission = self.commission
        fees = [
            SaleFee(
                kind=EntryKind(each.kind), money=money(each.amount, f"fees.{at}.amount", each.currency), on=each.on
            )
            for at, each in enumerate(self.fees or ())
        ]
        installments = [
            Payment(money=money(each.amount, f"installments.{at}.amount", each.currency), on=each.on)
            for at, each in enumerate(self.installments or ())
        ]
        return SalePatch(
            id=self.id,
            gross=UNSET if gross is None else money(gross, "gross"),
            commission=self.patch_of(
                "commission", None if commission is None else money(commission, "commission")
            ),
            fees=self.patch_of("fees", fees),
            installments=self.patch_of("installments", installments),
            **self.patches("sold_on", "commission_rate", "venue", "buyer_ref"),
        )


class EntryCreate(Body):
    """An entry to add to the ledger of the domain."""

    kind: Annotated[EntryKind, Field(description="Kind of the amount; record a sale with `sale`.")]
    amount: Annotated[MoneyInput, Field(description="Zero or more; the kind decides the sign.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    occurred_on: Annotated[Day | None, Field(description="Day; today by default.")] = None
    years: Annotated[Years | None, Field(description="Years that the amount pays for.")] = None
    registrar: Annotated[Registrar | None, Field(description="The registrar that was paid.")] = None
    memo: Annotated[Memo | None, Field(description="Your own text.")] = None
    reference: Annotated[
        Reference | None,
        Field(
            description=(
                "Your own reference, such as an invoice number; an entry with the same reference is recorded once."
            )
        ),
    ] = None

    def entry(self, at: int, base_currency: str) -> AddedEntry:
        """Return the record. Raise Invalid."""
        field = f"entries_add.{at}.amount"
        return AddedEntry(
            kind=self.kind,
            money=self.amount.to_money(self.currency, base_currency, field=field),
            on=self.occurred_on or clock.now().date(),
            years=self.years,
            registrar=self.registrar,
            memo=self.memo,
            reference=self.reference,
        )


class FinanceUpdate(PatchBody):
    """A merge patch of the finance of a domain; null clears a member."""

    conditions = frozenset({"currency"})

    acquisition: Annotated[
        AcquisitionUpdate | None, Field(description="How the domain was acquired; null voids the entry.")
    ] = None
    sale: Annotated[
        SaleUpdate | None,
        Field(description="The sale; the domain gets the status `sold`. null voids it and restores the status."),
    ] = None
    estimated_value: Annotated[
        MoneyInput | None, Field(description="Your estimate of the value of the domain.")
    ] = None
    asking_price: Annotated[MoneyInput | None, Field(description="Price that you ask for the domain.")] = None
    renewal_price: Annotated[MoneyInput | None, Field(description="Price of one more year.")] = None
    currency: Annotated[Currency | None, CURRENCY] = None
    entries_add: Annotated[
        Annotated[list[EntryCreate], Field(max_length=MAX_ENTRIES)] | None, Field(description="Entries to record.")
    ] = None
    entries_void: Annotated[
        Annotated[list[UUID], Field(max_length=MAX_ENTRIES)] | None,
        Field(description="Entries to void. The entry of the price of a sale voids the sale."),
    ] = None
    base_currency: Annotated[
        Currency,
        Field(description="Base currency of the whole portfolio: every entry is converted again."),
        NOT_NULL,
    ] = ABSENT
    pinned: Annotated[
        StrictBool, Field(description="Whether you keep the domain independently of its figures."), NOT_NULL
    ] = ABSENT
    notes: Annotated[
        Notes | None,
        Field(description="Your notes on the domain."),
    ] = None

    @property
    def changes_domain(self) -> bool:
        """Return whether a member is one of the domain itself, which an accountant does not change."""
        return any(self.patch_of(name, True) is not UNSET for name in DOMAIN_MEMBERS)

    def change(self, base_currency: str) -> FinanceChange:
        """Return the record; amounts without a currency are in the base currency. Raise Invalid."""

        def price(name: str, value: MoneyInput | None) -> Patch[Money | None]:
            money = None if value is None else value.to_money(self.currency, base_currency, field=name)
            return self.patch_of(name, money)

        acquisition, sale = self.acquisition, self.sale
        return FinanceChange(
            acquisition=self.patch_of(
                "acquisition", None if acquisition is None else acquisition.patch(base_currency)
            ),
            sale=self.patch_of("sale", None if sale is None else sale.patch(base_currency)),
            entries_add=[each.entry(at, base_currency) for at, each in enumerate(self.entries_add or ())],
            entries_void=self.entries_void or (),
            estimated_value=price("estimated_value", self.estimated_value),
            asking_price=price("asking_price", self.asking_price),
            renewal_price=price("renewal_price", self.renewal_price),
            **self.patches("base_currency", "pinned", "notes"),
        )
