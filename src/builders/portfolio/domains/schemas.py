"""Requests of the portfolio's domains."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AliasChoices, ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body, PatchBody, by_example
from builders.kit.values.days import Day
from builders.kit.values.money import Money, MoneyInput
from builders.portfolio.domains import fields, names, records
from builders.portfolio.domains.fields import Flag, Hosts, Moment, NameText, Notes, Percent, Tags, Text
from builders.portfolio.domains.records import (
    DomainPatch,
    NewDomain,
    Ownership,
    PortfolioDomainStatus,
    Purchase,
)
from builders.portfolio.ledger.records import EntryKind

_CREATE: JsonDict = {
    "domain": "harbour.example",
    "registrar": "Porkbun",
    "acquired_on": "2024-03-01",
    "expires_at": "2027-03-01T00:00:00Z",
    "renewal_price": {"amount": "12.34", "currency": "USD"},
    "tags": ["ports"],
}
_PURCHASE: JsonDict = {"amount": "1250.00", "currency": "USD", "on": "2024-03-01", "kind": "acquisition"}
ABSENT: Any = None  # the default of a member that cannot be null


def _no_default(schema: JsonDict) -> None:
    """Publish no default: an absent member keeps its value."""
    schema.pop("default", None)


NOT_NULL = Field(json_schema_extra=_no_default)
Currency = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] | None,
    Field(description="ISO 4217 code of the amounts that are sent without one."),
]


class PortfolioPurchase(Body):
    """The price of the purchase or registration of a new domain, recorded as an entry of the ledger."""

    model_config = ConfigDict(json_schema_extra=by_example(_PURCHASE))

    amount: Annotated[MoneyInput, Field(description="The paid amount, without fees that have separate entries.")]
    currency: Currency = None
    on: Annotated[Day | None, Field(description="Day; by default `acquired_on` or today.")] = None
    kind: Annotated[
        Literal["acquisition", "registration"], Field(description="`registration`: of a name that was free.")
    ] = "acquisition"

    def purchase(self, currency: str | None) -> Purchase:
        """Return the record; `currency` is that of the body around it."""
        money = self.amount.to_money(self.currency, currency, field="purchase.amount")
        return Purchase(money=money, on=self.on, kind=EntryKind(self.kind))


class PortfolioDomainCreate(Body):
    """A domain to add. Only its name is required; `name` is accepted for `domain`."""

    model_config = ConfigDict(json_schema_extra=by_example({"domain": "harbour.example"}, _CREATE))

    domain: Annotated[
        NameText,
        Field(
            validation_alias=AliasChoices("domain", "name"),
            description="The registered name, in Unicode or as an A-label.",
        ),
    ]
    status: Annotated[PortfolioDomainStatus | None, Field(description="By default that of `ownership`.")] = None
    ownership: Annotated[Ownership, fields.OWNERSHIP] = Ownership.OWNED
    counterparty: Annotated[Text | None, fields.COUNTERPARTY] = None
    revenue_share: Annotated[Percent | None, fields.REVENUE_SHARE] = None
    registrar: Annotated[Text | None, fields.REGISTRAR] = None
    registered_on: Annotated[Day | None, fields.REGISTERED_ON] = None
    acquired_on: Annotated[Day | None, fields.ACQUIRED_ON] = None
    expires_at: Annotated[Moment | None, fields.EXPIRES_AT] = None
    auto_renew: Annotated[Flag | None, fields.AUTO_RENEW] = None
    locked: Annotated[Flag | None, fields.LOCKED] = None
    privacy: Annotated[Flag | None, fields.PRIVACY] = None
    nameservers: Annotated[Hosts, fields.NAMESERVERS] = Field(default=[])
    renewal_price: Annotated[MoneyInput | None, fields.RENEWAL_PRICE] = None
    asking_price: Annotated[MoneyInput | None, fields.ASKING_PRICE] = None
    min_offer: Annotated[MoneyInput | None, fields.MIN_OFFER] = None
    estimated_value: Annotated[MoneyInput | None, fields.ESTIMATED_VALUE] = None
    tags: Annotated[Tags, fields.TAGS] = Field(default=[])
    folder: Annotated[Text | None, fields.FOLDER] = None
    notes: Annotated[Notes | None, fields.NOTES] = None
    pinned: Annotated[Flag, fields.PINNED] = False
    currency: Currency = None
    purchase: Annotated[
        PortfolioPurchase | None, Field(description="The price of the purchase or registration.")
    ] = None

    def new_purchase(self) -> Purchase | None:
        """Return the record. Raise Invalid without a currency."""
        return None if self.purchase is None else self.purchase.purchase(self.currency)

    def new_domain(self) -> NewDomain:
        """Return the record.

        Raise Invalid for an amount without a currency, and for a counterparty of an owned domain.
        """
        _refuse_counterparty(self, self.ownership)
        return NewDomain(
            name=names.parse_name(self.domain),
            status=self.status or PortfolioDomainStatus(self.ownership.value),
            ownership=self.ownership,
            counterparty=self.counterparty,
            revenue_share=self.revenue_share,
            registrar=self.registrar,
            registered_on=self.registered_on,
            acquired_on=self.acquired_on,
            expires_at=self.expires_at,
            auto_renew=self.auto_renew,
            locked=self.locked,
            privacy=self.privacy,
            nameservers=self.nameservers,
            renewal_price=self._money("renewal_price", self.renewal_price),
            asking_price=self._money("asking_price", self.asking_price),
            min_offer=self._money("min_offer", self.min_offer),
            estimated_value=self._money("estimated_value", self.estimated_value),
            tags=self.tags,
            folder=self.folder,
            notes=self.notes,
            pinned=self.pinned,
        )

    def _money(self, name: str, amount: MoneyInput | None) -> Money | None:
        return None if amount is None else amount.to_money(self.currency, field=name)


class PortfolioDomainUpdate(PatchBody):
    """A merge patch of a domain. The name does not change: remove the domain and add the other one."""

    model_config = ConfigDict(json_schema_extra=by_example({"tags": ["ports", "sale"], "auto_renew": False}))
    conditions: ClassVar[frozenset[str]] = frozenset({"currency"})

    status: Annotated[PortfolioDomainStatus, fields.STATUS, NOT_NULL] = ABSENT
    ownership: Annotated[
        Ownership,
        Field(
            description="Legal basis on which you hold the domain; `owned` clears the counterparty and the share.",
            json_schema_extra=_no_default,
        ),
    ] = ABSENT
    counterparty: Annotated[Text | None, fields.COUNTERPARTY] = None
    revenue_share: Annotated[Percent | None, fields.REVENUE_SHARE] = None
    registrar: Annotated[Text | None, fields.REGISTRAR] = None
    registered_on: Annotated[Day | None, fields.REGISTERED_ON] = None
    acquired_on: Annotated[Day | None, fields.ACQUIRED_ON] = None
    expires_at: Annotated[Moment | None, fields.EXPIRES_AT] = None
    auto_renew: Annotated[Flag | None, fields.AUTO_RENEW] = None
    locked: Annotated[Flag | None, fields.LOCKED] = None
    privacy: Annotated[Flag | None, fields.PRIVACY] = None
    nameservers: Annotated[Hosts | None, fields.NAMESERVERS] = None
    renewal_price: Annotated[MoneyInput | None, fields.RENEWAL_PRICE] = None
    asking_price: Annotated[MoneyInput | None, fields.ASKING_PRICE] = None
    min_offer: Annotated[MoneyInput | None, fields.MIN_OFFER] = None
    estimated_value: Annotated[MoneyInput | None, fields.ESTIMATED_VALUE] = None
    tags: Annotated[Tags | None, fields.TAGS] = None
    folder: Annotated[Text | None, fields.FOLDER] = None
    notes: Annotated[Notes | None, fields.NOTES] = None
    pinned: Annotated[Flag, fields.PINNED, NOT_NULL] = ABSENT
    currency: Currency = None

    def patch(self, *, ownership: Ownership) -> DomainPatch:
        """Return the record, for a domain with this ownership.

        Raise Invalid for an amount without a currency, and for a counterparty of an owned domain.
        """
        _refuse_counterparty(self, self.ownership or ownership)
        return DomainPatch(
            status=self.patch_of("status", self.status),
            ownership=self.patch_of("ownership", self.ownership),
            counterparty=self.patch_of("counterparty", self.counterparty),
            revenue_share=self.patch_of("revenue_share", self.revenue_share),
            registrar=self.patch_of("registrar", self.registrar),
            registered_on=self.patch_of("registered_on", self.registered_on),
            acquired_on=self.patch_of("acquired_on", self.acquired_on),
            expires_at=self.patch_of("expires_at", self.expires_at),
            auto_renew=self.patch_of("auto_renew", self.auto_renew),
            locked=self.patch_of("locked", self.locked),
            privacy=self.patch_of("privacy", self.privacy),
            nameservers=self.patch_of("nameservers", self.nameservers or []),
            renewal_price=self.patch_of("renewal_price", self._money("renewal_price", self.renewal_price)),
            asking_price=self.patch_of("asking_price", self._money("asking_price", self.asking_price)),
            min_offer=self.patch_of("min_offer", self._money("min_offer", self.min_offer)),
            estimated_value=self.patch_of("estimated_value", self._money("estimated_value", self.estimated_value)),
            tags=self.patch_of("tags", self.tags or []),
            folder=self.patch_of("folder", self.folder),
            notes=self.patch_of("notes", self.notes),
            pinned=self.patch_of("pinned", self.pinned),
        )

    def _money(self, name: str, amount: MoneyInput | None) -> Money | None:
        return None if amount is None else amount.to_money(self.currency, field=name)


class PortfolioTagging(Body):
    """Tags to add to domains, and to remove from them."""

    model_config = ConfigDict(
        json_schema_extra=by_example({"domains": ["harbour.example"], "add": ["sale"], "remove": ["keep"]})
    )

    domains: Annotated[
        list[Annotated[str, StringConstraints(min_length=1, max_length=253)]],
        Field(
            min_length=1,
            max_length=records.MAX_BULK,
            description="Domains, each by its id or its name.",
        ),
    ]
    add: Annotated[Tags, Field(description="Tags to add.")] = Field(default=[])
    remove: Annotated[Tags, Field(description="Tags to remove, unless `add` contains them.")] = Field(default=[])

    @model_validator(mode="after")
    def _require_tags(self) -> Self:
        if not self.add and not self.remove:
            raise PydanticCustomError("tags_missing", "Send at least one tag in `add` or `remove`.")
        return self


def _refuse_counterparty(body: PortfolioDomainCreate | PortfolioDomainUpdate, ownership: Ownership) -> None:
    if ownership is not Ownership.OWNED:
        return
    for name, value in (("counterparty", body.counterparty), ("revenue_share", body.revenue_share)):
        if value is not None:
            raise Invalid(
                ("body", name), "An owned domain has no counterparty and no revenue share.", "owned_domain"
            )
