"""What a role sees of an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel

from builders.kit.values.money import Money
from builders.kit.values.resources import MONEY
from builders.portfolio.team.visibility import visible

PRICE = Money(Decimal("12.34"), "USD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record in an answer."""

    name: str
    price: Annotated[Money | None, MONEY]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A record that says what is hidden."""

    price: Annotated[Money | None, MONEY]
    prices: Annotated[Sequence[Money], MONEY]
    redacted: Sequence[str] = ()


class Reply(BaseModel):
    """A model with records and models in it."""

    rows: list[Row]
    best: Row | None
    sums: Annotated[list[Money], MONEY]
    optional: Annotated[list[Money] | None, MONEY]
    names: list[str]
    inner: "Reply | None" = None
    redacted: list[str]


REPLY = Reply(
    rows=[Row(name="a", price=PRICE)],
    best=Row(name="b", price=PRICE),
    sums=[PRICE],
    optional=[PRICE],
    names=["a"],
    redacted=[],
)
HIDDEN = Reply(
    rows=[Row(name="a", price=None)],
    best=Row(name="b", price=None),
    sums=[],
    optional=None,
    names=["a"],
    redacted=["finance"],
)


def test_a_role_with_finance_sees_the_answer_as_it_is() -> None:
    assert visible(REPLY, shows_finance=True) is REPLY


def test_another_role_sees_a_record_without_money() -> None:
    notice = Notice(price=PRICE, prices=[PRICE])

    assert visible(notice, shows_finance=False) == Notice(price=None, prices=[], redacted=["finance"])


def test_another_role_sees_no_money_in_the_records_and_models_of_a_model() -> None:
    nested = REPLY.model_copy(update={"inner": REPLY})

    assert visible(nested, shows_finance=False) == HIDDEN.model_copy(update={"inner": HIDDEN})


def test_a_record_without_money_stays_the_same() -> None:
    names = ["a", "b"]

    assert visible(names, shows_finance=False) is names
