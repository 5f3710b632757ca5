"""Requests of finance."""

from dataclasses import fields
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AliasChoices, Field, StrictInt, StringConstraints

from builders.kit.errors import CURRENCY_PATTERN
from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody
from builders.kit.http.members import patch_of
from builders.kit.values import money, texts
from builders.kit.values.days import Day
from builders.kit.values.docs import doc
from builders.kit.values.money import Money, MoneyInput
from builders.kit.values.patches import UNSET, Changes
from builders.portfolio.domains.fields import MAX_TEXT as MAX_REGISTRAR, Moment
from builders.portfolio.domains.records import FIELDS, DomainFields, DomainPatch
from builders.portfolio.finance.records import (
    DOMAIN_MEMBERS,
    MAX_ENTRIES,
    Acquisition,
    FinanceChange,
    NewRenewal,
)
from builders.portfolio.ledger.records import (
    MAX_MEMO,
    MAX_REFERENCE,
    MAX_TERM_TEXT,
    MAX_TERMS,
    MAX_YEARS,
    EntryFields,
    EntryKind,
    Installment,
    SaleFee,
    SaleTerms,
)


def _text(length: int) -> Any:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=length)


Currency = Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)]
BaseCurrency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]
Years = Annotated[StrictInt, Field(ge=1, le=MAX_YEARS)]
Text = Annotated[str, _text(MAX_TERM_TEXT), texts.Plain]
Registrar = Annotated[str, _text(MAX_REGISTRAR), texts.Plain]
Reference = Annotated[str, _text(MAX_REFERENCE), texts.Plain]
Memo = Annotated[str, _text(MAX_MEMO), texts.Plain]
Rate = Annotated[
    Decimal,
    Field(ge=0, le=1, max_digits=7, decimal_places=6),
    money.published(r"^(1(\.0{1,6})?|0(\.[0-9]{1,6})?)$", minimum=0, maximum=1),
]
TERMS = tuple(each.name for each in fields(SaleTerms))
CURRENCY = doc("ISO 4217 code of amounts without a currency; by default the base currency.")


class AcquisitionUpdate(PatchBody, extra="forbid"):
    """The acquisition of the domain. It replaces the entry of the acquisition."""

    conditions = frozenset({"currency"})

    amount: Annotated[MoneyInput, doc("The paid amount; required for the first record."), NOT_NULL] = ABSENT
    currency: Annotated[Currency | None, CURRENCY] = None
    on: Annotated[
        Day,
        Field(validation_alias=AliasChoices("on", "acquired_on")),
        doc(
            "Day of the payment; by default the day of acquisition or registration of the domain, else today. "
            "After the sale: it was bought back. `acquired_on` is accepted too."
        ),
        NOT_NULL,
    ] = ABSENT
    kind: Annotated[
        Literal["acquisition", "registration"],
        doc("`registration`: you registered the domain; you did not buy it from a holder."),
        NOT_NULL,
    ] = ABSENT
    venue: Annotated[Text | None, doc("Marketplace or seller; stored as the memo of the entry.")] = None

    def changes(self, base_currency: str) -> Changes[Acquisition]:
        """Return the changed fields. Raise Invalid."""
        sent = {name: each for name, each in self.patches("on", "venue").items() if each is not UNSET}
        if self.kind is not None:
            sent["kind"] = EntryKind(self.kind)
        if self.amount is not None:
            sent["money"] = self.amount.to_money(self.currency, base_currency, field="acquisition.amount")
        return Changes(sent)


class SaleFeeCreate(Body, extra="forbid"):
    """Costs of the seller besides the commission."""

    kind: Annotated[Literal["marketplace_fee", "escrow_fee", "tax", "other_cost"], doc("Kind of the payment.")] = (
        "marketplace_fee"
    )
    amount: Annotated[MoneyInput, doc("The paid amount.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    on: Annotated[Day | None, doc("Day; by default the day of the sale.")] = None


class InstallmentCreate(Body, extra="forbid"):
    """A payment of the buyer."""

    amount: Annotated[MoneyInput, doc("The paid amount, in the currency of the price.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    on: Annotated[Day, doc("When it is due.")]
    received_on: Annotated[
        Day | None, doc("When you received it; until you send this, it is planned and counts in no figure.")
    ] = None


class SaleUpdate(PatchBody, extra="forbid"):
    """The sale of the domain. An absent member keeps its value; an array replaces the stored array."""

    conditions = frozenset({"id", "currency"})

    id: Annotated[UUID | None, doc("Identifier of an earlier sale; by default the present one.")] = None
    gross: Annotated[MoneyInput, doc("The price before all costs; required for the first record."), NOT_NULL] = (
        ABSENT
    )
    currency: Annotated[Currency | None, CURRENCY] = None
    sold_on: Annotated[Day, doc("Day of the sale; by default today."), NOT_NULL] = ABSENT
    commission: Annotated[MoneyInput | None, doc("A fixed commission, paid on the day of the sale.")] = None
    commission_rate: Annotated[
        Rate | None, doc("Part of the price that is the commission, such as 0.15; of each payment.")
    ] = None
    fees: Annotated[
        Annotated[list[SaleFeeCreate], Field(max_length=MAX_TERMS)] | None,
        doc("Your costs besides the commission."),
    ] = None
    venue: Annotated[Text | None, doc("The marketplace of the sale.")] = None
    buyer_ref: Annotated[Text | None, doc("Your own reference to the buyer.")] = None
    installments: Annotated[
        Annotated[list[InstallmentCreate], Field(max_length=MAX_TERMS)] | None,
        Field(validation_alias=AliasChoices("installments", "instalments")),
        doc("Instalments. The remainder is paid on the day of the sale. `instalments` is accepted too."),
    ] = None

    def changes(self, base_currency: str) -> Changes[SaleTerms]:
        """Return the changed terms. Raise Invalid."""
        own = self.currency or (None if self.gross is None else self.gross.currency)

        def money(value: MoneyInput, field: str, currency: str | None = None) -> Money:
            return value.to_money(currency, own, base_currency, field=f"sale.{field}")

        sent = {name: each for name, each in self.patches(*TERMS).items() if each is not UNSET}
        for name in ("gross", "commission"):
            if sent.get(name) is not None:
                sent[name] = money(sent[name], name)
        if "fees" in sent:
            sent["fees"] = [
                SaleFee(
                    kind=EntryKind(each.kind),
                    money=money(each.amount, f"fees.{at}.amount", each.currency),
                    on=each.on,
                )
                for at, each in enumerate(self.fees or ())
            ]
        if "installments" in sent:
            sent["installments"] = [
                Installment(
                    money=money(each.amount, f"installments.{at}.amount", each.currency),
                    on=each.on,
                    received_on=each.received_on,
                )
                for at, each in enumerate(self.installments or ())
            ]
        return Changes(sent)


class EntryCreate(Body, extra="forbid"):
    """An entry to add to the ledger of the domain."""

    kind: Annotated[
        EntryKind,
        doc(
            "Kind of the amount; record a sale with `sale`. `refund`: you got money back. `buyer_refund`, "
            "`chargeback`: the buyer did, of the price."
        ),
    ]
    amount: Annotated[MoneyInput, doc("Zero or more; the kind decides the sign.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    occurred_on: Annotated[Day | None, doc("Day; today by default.")] = None
    years: Annotated[Years | None, doc("Years that the amount pays for.")] = None
    registrar: Annotated[Registrar | None, doc("The registrar that was paid.")] = None
    memo: Annotated[Memo | None, doc("Your own text.")] = None
    reference: Annotated[
        Reference | None,
        doc("Your own reference, such as an invoice number; an entry with the same reference is recorded once."),
    ] = None

    def fields(self, at: int, base_currency: str, *, today: date) -> EntryFields:
        """Return the record, of today without a day. Raise Invalid."""
        field = f"entries_add.{at}.amount"
        return EntryFields(
            kind=self.kind,
            money=self.amount.to_money(self.currency, base_currency, field=field),
            occurred_on=self.occurred_on or today,
            years=self.years,
            registrar=self.registrar,
            memo=self.memo,
            reference=self.reference,
        )


@patch_of(DomainFields, *(name for name in FIELDS if name in DOMAIN_MEMBERS))
class FinanceUpdate(PatchBody):
    """A merge patch of the finance of a domain; null clears a member."""

    conditions = frozenset({"currency"})
    refuses_similar = True

    acquisition: Annotated[AcquisitionUpdate | None, doc("How the domain was acquired; null voids the entry.")] = (
        None
    )
    sale: Annotated[
        SaleUpdate | None,
        doc(
            "The sale; the domain gets the status `sold`, on the day of the sale if that is in the future. null "
            "voids it and restores the status."
        ),
    ] = None
    currency: Annotated[Currency | None, CURRENCY] = None
    entries_add: Annotated[
        Annotated[list[EntryCreate], Field(max_length=MAX_ENTRIES)] | None, doc("Entries to record.")
    ] = None
    entries_void: Annotated[
        Annotated[list[UUID], Field(max_length=MAX_ENTRIES)] | None,
        doc("Entries to void. The entry of the price of a sale voids the sale."),
    ] = None
    base_currency: Annotated[
        BaseCurrency, doc("Base currency of the whole portfolio: every entry is converted again."), NOT_NULL
    ] = ABSENT

    @property
    def changes_domain(self) -> bool:
        """Return whether a member is one of the domain itself, which an accountant does not change."""
        return any(self.patch_of(name, True) is not UNSET for name in DOMAIN_MEMBERS)

    def change(self, base_currency: str, *, today: date) -> FinanceChange:
        """Return the record; amounts without a currency are in the base currency. Raise Invalid."""
        acquisition, sale = self.acquisition, self.sale
        return FinanceChange(
            acquisition=self.patch_of(
                "acquisition", None if acquisition is None else acquisition.changes(base_currency)
            ),
            sale=self.patch_of("sale", None if sale is None else sale.changes(base_currency)),
            sale_id=None if sale is None else sale.id,
            domain=DomainPatch(self.values(currency=self.currency or base_currency)),
            entries_add=[
                each.fields(at, base_currency, today=today) for at, each in enumerate(self.entries_add or ())
            ],
            entries_void=self.entries_void or (),
            base_currency=self.base_currency,
        )


class RenewalCreate(Body):
    """A paid renewal. Only the amount is required."""

    refuses_similar = True

    amount: Annotated[MoneyInput, doc("The paid amount for all years.")]
    currency: Annotated[Currency | None, CURRENCY] = None
    renewed_on: Annotated[Day | None, doc("Day of the payment; today by default.")] = None
    years: Annotated[StrictInt, Field(ge=1, le=10, description="Number of added years.")] = 1
    new_expires_at: Annotated[
        Moment | None, doc("The new expiry; by default the expiry of the domain plus the years.")
    ] = None
    registrar: Annotated[Registrar | None, doc("Registrar of the renewal; by default that of the domain.")] = None
    order_ref: Annotated[Text | None, doc("Number of the order or invoice.")] = None
    kind: Annotated[
        Literal["renewal", "redemption"], doc("`redemption`: the domain was restored after its deletion.")
    ] = "renewal"
    memo: Annotated[Memo | None, doc("Your own text.")] = None

    def renewal(self, base_currency: str, *, today: date) -> NewRenewal:
        """Return the record, of today without a day. Raise Invalid."""
        return NewRenewal(
            money=self.amount.to_money(self.currency, base_currency, field="amount"),
            occurred_on=self.renewed_on or today,
            years=self.years,
            kind=EntryKind(self.kind),
            new_expires_at=self.new_expires_at,
            registrar=self.registrar,
            order_ref=self.order_ref,
            memo=self.memo,
        )
