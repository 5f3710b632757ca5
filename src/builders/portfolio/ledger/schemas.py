"""Request bodies of the ledger, and their replies."""

from collections.abc import Iterable
from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Self

from pydantic import Field, PlainSerializer, StringConstraints, WithJsonSchema

from builders.kit.errors import CURRENCY_PATTERN
from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.values import money
from builders.kit.values.days import Day
from builders.kit.values.docs import doc
from builders.portfolio.ledger.records import MAX_OWN_RATES, OwnRate


class PortfolioOwnRate(Body, extra="forbid"):
    """An exchange rate of your own."""

    currency: Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN), doc(money.CODE)]
    since: Annotated[Day, doc("It counts from this day until the next one.")]
    rate: Annotated[
        Decimal,
        Field(gt=0, lt=10**9, max_digits=21, decimal_places=12),
        PlainSerializer(lambda rate: f"{rate:f}", return_type=str),  # str() writes a small rate with an exponent
        WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,12})?$"}),
        doc("Units of `quote_currency` per unit of `currency`."),
    ]
    quote_currency: Annotated[
        str, StringConstraints(pattern="^[A-Z]{3}$"), doc("A currency that the European Central Bank quotes.")
    ]


class OwnRatesUpdate(Body, extra="forbid"):
    """All exchange rates of your own."""

    rates: Annotated[
        list[PortfolioOwnRate], Field(max_length=MAX_OWN_RATES, description="They replace the others.")
    ]

    @property
    def records(self) -> list[OwnRate]:
        """Return the records."""
        return [OwnRate(**each.model_dump()) for each in self.rates]


class PortfolioOwnRates(Reply):
    """The exchange rates of your own."""

    rates: Annotated[list[PortfolioOwnRate], doc("By currency and day.")]

    @classmethod
    def of(cls, rates: Iterable[OwnRate]) -> Self:
        """Return the reply."""
        return cls(rates=[PortfolioOwnRate(**asdict(each)) for each in rates])


class OwnRatesWritten(PortfolioOwnRates, WriteReply):
    """The exchange rates of your own after a change."""
