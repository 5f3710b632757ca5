"""Requests of the portfolio's domains."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, AliasChoices, Field, StrictBool, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from builders.kit.errors import CURRENCY_PATTERN, Invalid
from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody
from builders.kit.http.members import create_of, patch_of
from builders.kit.rows import RowProblem, row_problems
from builders.kit.values.days import Day
from builders.kit.values.docs import doc
from builders.kit.values.money import MoneyInput
from builders.portfolio.domains import names, records
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.domains.fields import ShownDigest, Tags
from builders.portfolio.domains.records import (
    DEFAULTS,
    FIELDS,
    REPORTED,
    DomainEdit,
    DomainFields,
    DomainPatch,
    NewDomain,
    Ownership,
    PortfolioDomainStatus,
)
from builders.portfolio.ledger.records import EntryFields, EntryKind


def _check_name(text: str) -> str:
    try:
        names.parse_name(text)
    except NameInvalid as error:
        if error.did_you_mean is None:
            raise PydanticCustomError("domain_name", "{message}", {"message": error.message}) from None
        context = {"message": error.message, "did_you_mean": error.did_you_mean}
        raise PydanticCustomError("domain_name", "{message} Did you mean {did_you_mean}?", context) from None
    return text


NameText = Annotated[str, StringConstraints(min_length=1, max_length=2048), AfterValidator(_check_name)]
Currency = Annotated[
    Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)] | None,
    doc("ISO 4217 code of the amounts that are sent without one."),
]
_NEW = {name: default for name, default in DEFAULTS.items() if name not in {"status", *REPORTED}}


class PortfolioPurchase(Body, extra="forbid"):
    """The price of the purchase or registration of a new domain, recorded as an entry of the ledger."""

    amount: Annotated[MoneyInput, doc("The paid amount, without fees that have separate entries.")]
    currency: Currency = None
    on: Annotated[
        Day | None,
        Field(validation_alias=AliasChoices("on", "acquired_on")),
        doc("Day; by default `acquired_on` of the domain or today. `acquired_on` is accepted too."),
    ] = None
    kind: Annotated[Literal["acquisition", "registration"], doc("`registration`: of a name that was free.")] = (
        "acquisition"
    )


@create_of(DomainFields, **_NEW)
class PortfolioDomainCreate(Body):
    """A domain to add. Only its name is required; `name` is accepted for `domain`."""

    domain: Annotated[
        NameText,
        Field(
            validation_alias=AliasChoices("domain", "name"),
            description="The registered name, in Unicode or as an A-label.",
        ),
    ]
    status: Annotated[PortfolioDomainStatus | None, doc("By default that of `ownership`.")] = None
    currency: Currency = None
    purchase: Annotated[PortfolioPurchase | None, doc("The price of the purchase or registration.")] = None

    def new_purchase(self, new: NewDomain, *, today: date) -> EntryFields | None:
        """Return the record, for the domain that is added; of today without a day.

        Raise Invalid without a currency.
        """
        sent = self.purchase
        if sent is None:
            return None
        return EntryFields(
            kind=EntryKind(sent.kind),
            money=sent.amount.to_money(sent.currency, self.currency, field="purchase.amount"),
            occurred_on=sent.on or new.acquired_on or today,
            registrar=new.registrar,
        )

    def new_domain(self) -> NewDomain:
        """Return the record.

        Raise Invalid for an amount without a currency, and for a counterparty of an owned domain.
        """
        values = self.values(currency=self.currency)
        _refuse_counterparty(values, values["ownership"])
        status = self.status or PortfolioDomainStatus(values["ownership"].value)
        return NewDomain(name=names.parse_name(self.domain), **{**values, "status": status})


@patch_of(DomainFields, *(name for name in FIELDS if name not in {"ownership", *REPORTED}))
class PortfolioDomainUpdate(PatchBody):
    """A merge patch of a domain. The name does not change: remove the domain and add the other one."""

    conditions: ClassVar[frozenset[str]] = frozenset({"currency"})

    ownership: Annotated[
        Ownership,
        doc("Legal basis on which you hold the domain; `owned` clears the counterparty and the share."),
        NOT_NULL,
    ] = ABSENT
    currency: Currency = None

    def patch(self, *, ownership: Ownership) -> DomainPatch:
        """Return the record, for a domain with this ownership.

        Raise Invalid for an amount without a currency, and for a counterparty of an owned domain.
        """
        values = self.values(currency=self.currency)
        _refuse_counterparty(values, values.get("ownership", ownership))
        return DomainPatch(values)


DomainKeys = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=253)]],
    Field(
        min_length=1,
        max_length=records.MAX_BULK,
        description="Domains, each by its id or its name.",
    ),
]


class PortfolioEdit(Body):
    """The same change of many domains."""

    refuses_similar = True

    domains: DomainKeys
    set: Annotated[PortfolioDomainUpdate | None, doc("A merge patch of each domain.")] = None
    add_tags: Annotated[Tags, doc("Tags to add.")] = Field(default=[])
    remove_tags: Annotated[Tags, doc("Tags to remove, unless `add_tags` contains them.")] = Field(default=[])
    dry_run: Annotated[StrictBool, doc("Report the effect without any change.")] = False
    digest: ShownDigest = None

    @model_validator(mode="after")
    def _require_changes(self) -> Self:
        if self.set is None and not (self.add_tags or self.remove_tags):
            raise PydanticCustomError("changes_missing", "Send `set`, or at least one tag to add or to remove.")
        return self

    def edit(self) -> DomainEdit:
        """Return the record. Raise Invalid for an amount without a currency."""
        return DomainEdit(
            patches={each: self._patch(each) for each in reversed(Ownership)},
            add_tags=self.add_tags,
            remove_tags=self.remove_tags,
        )

    def _patch(self, ownership: Ownership) -> DomainPatch | RowProblem:
        if self.set is None:
            return DomainPatch({})
        try:
            return self.set.patch(ownership=ownership)
        except Invalid as invalid:
            if ownership is not Ownership.OWNED:  # so it is wrong for every domain
                errors = [{**each, "loc": ("body", "set", *each["loc"][1:])} for each in invalid.errors]
                raise Invalid.many(errors) from None
            return row_problems(invalid)[0]


class PortfolioExpiryHandover(Body):
    """Domains whose expiries the registries decide from now on."""

    domains: DomainKeys


def _refuse_counterparty(values: Mapping[str, Any], ownership: Ownership) -> None:
    if ownership is not Ownership.OWNED:
        return
    for name in ("counterparty", "revenue_share"):
        if values.get(name) is not None:
            raise Invalid(
                ("body", name), "An owned domain has no counterparty and no revenue share.", "owned_domain"
            )
