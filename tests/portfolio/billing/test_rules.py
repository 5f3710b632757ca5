"""The rules of matching: names, years, parts of a line, and keys."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from builders.kit.values.money import Money, decimals_of
from builders.portfolio.billing import bill_text
from builders.portfolio.billing.bill_text import read_years
from builders.portfolio.billing.lines import charges_of, number_repeats, split
from builders.portfolio.billing.matches import find_years
from builders.portfolio.billing.records import NewCharge
from builders.portfolio.registrars.records import BilledLine, ChargeKind
from tests.portfolio.billing.make import line, origin

AMOUNTS = st.decimals(min_value=-99_999, max_value=99_999, places=2)


def made(billed: BilledLine, **prices: str) -> list[NewCharge]:
    priced = {f"{name}.com": Money.of(price, "USD") for name, price in prices.items()}
    return list(charges_of(billed, origin=origin(), prices=priced, paid={}))


@given(
    st.sampled_from(["USD", "JPY", "KWD"]),
    AMOUNTS,
    st.lists(st.decimals(0, 500, places=2), min_size=1, max_size=9),
)
def test_the_parts_of_an_amount_add_up_to_it(currency: str, total: Decimal, weights: list[Decimal]) -> None:
    coin = Decimal(1).scaleb(-decimals_of(currency))
    total = total.quantize(coin)
    parts = split(total, currency, weights=weights)
    assert sum(parts) == total
    assert all(each == each.quantize(coin) and each * total >= 0 for each in parts)
    even = split(total, currency, weights=[Decimal(0)] * len(weights))
    assert len(set(even[1:])) <= 1
    assert abs(even[0] - even[-1]) < coin * len(weights)


@given(AMOUNTS, st.lists(st.sampled_from(["a.com", "b.com", "c.com", "B.com "]), max_size=4), st.booleans())
def test_the_key_of_a_charge_is_that_of_its_line(total: Decimal, named: list[str], is_renewal: bool) -> None:
    kind = ChargeKind.RENEWAL if is_renewal else ChargeKind.OTHER
    billed = line(str(total), *named, kind=kind)
    plain, priced = made(billed), made(billed, a="1.00", b="2.50", c="7.00")
    assert [each.key for each in plain] == [each.key for each in priced]
    assert len({each.key for each in plain}) == len(plain) == max(1, len({each.strip().lower() for each in named}))
    assert sum(each.total for each in priced) == total
    for other in (replace(billed, line_id="2"), replace(billed, order_id="x"), replace(billed, currency="EUR")):
        assert not {each.key for each in made(other)} & {each.key for each in plain}


@pytest.mark.parametrize(
    ("raw", "description", "found"),
    [
        pytest.param("HARBOUR.com.", "", "harbour.com", id="capitals and the root dot"),
        pytest.param("www.harbour.co.uk", "", "harbour.co.uk", id="www and a public suffix of two labels"),
        pytest.param("bücher.de", "", "xn--bcher-kva.de", id="a U-label"),
        pytest.param("xn--bcher-kva.de", "", "xn--bcher-kva.de", id="an A-label"),
        pytest.param("shop.harbour.com", "", "harbour.com", id="a subdomain"),
        pytest.param(
            None, "Renewal of https://www.harbour.com/ for 1.00", "harbour.com", id="a URL in the description"
        ),
        pytest.param(
            None,
            "harbour.com: renewal, owner ada@lantern-of-the-sea.com",
            "harbour.com",
            id="an email address is no domain",
        ),
        pytest.param(
            None, "Order 12.34 v1.2 e.g. Inc.Renewal", None, id="numbers and abbreviations are no domains"
        ),
        pytest.param(
            None, "RENEWAL BÜCHER.DE 1 Year", "xn--bcher-kva.de", id="a U-label in capitals in the description"
        ),
        pytest.param(
            None, "a.com and the-longer-one.com", "the-longer-one.com", id="the longest of two in the description"
        ),
        pytest.param("N/A", "renewal harbour.com", "harbour.com", id="a column that says none"),
        pytest.param("harbour", "", None, id="a label alone"),
        pytest.param("com", "", None, id="a TLD alone"),
    ],
)
def test_names_are_found(raw: str | None, description: str, found: str | None) -> None:
    assert bill_text.read_names(raw, description).best == found


def test_lists_columns_and_words_are_names() -> None:
    assert bill_text.list_names("Renewal: a.com, b.com and c.com (3 domains)") == ["a.com", "b.com", "c.com"]
    assert bill_text.list_names("Transfer of a.com from registrar.com") == ()
    assert bill_text.list_names("a.com a.com") == ()
    assert bill_text.split_field("a.com; b.com") == ["a.com", "b.com"]
    assert bill_text.split_field("a.com") == ["a.com"]
    many = " ".join(f"d{number}.com" for number in range(bill_text.MAX_NAMES + 1))
    assert bill_text.split_field(many) == [many]  # a person decides: part of the names would be wrong
    assert len(bill_text.split_field(many.rpartition(" ")[0])) == bill_text.MAX_NAMES
    assert bill_text.split_field("Renewal of a.com and so on b.com") == ["Renewal of a.com and so on b.com"]
    assert [
        bill_text.join_name(*each) for each in (("harbour", ".com"), ("harbour.com", "com"), ("Harbour", ""))
    ] == [
        *("harbour.com", "harbour.com", "Harbour"),
    ]
    assert bill_text.read_names(None, "Renewal of harbour, 2 years").labels == ["harbour"]


@pytest.mark.parametrize("word", ["a.com ", "a.", "a"])
def test_a_description_of_any_length_is_read_to_a_bound(word: str) -> None:
    long = word * 1_000_000
    [charge] = made(line("1", description=long, line_id=long))
    assert (len(charge.description), len(charge.line_id)) <= (500, 200)
    assert bill_text.split_field(long) == [long.strip()]
    assert bill_text.read_names(long, long) == bill_text.read_names(
        long[: bill_text.MAX_READ], long[: bill_text.MAX_READ]
    )


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    bill_text.read_names(text, text)
    bill_text.list_names(text)
    bill_text.split_field(text)
    read_years(text)
    assert all(len(each.description) <= 500 for each in made(line("1", text, description=text)))


@pytest.mark.parametrize(
    ("text", "years"),
    [
        *(("renewal 2 years", 2), ("1yr", 1), ("for 3-year term", 3), ("24 months", 2), ("18 months", None)),
        *(("10 Year(s)", 10), ("2026 year", None), ("$10.50 years", None), ("99 years", None), ("no", None)),
    ],
)
def test_years_are_read(text: str, years: int | None) -> None:
    assert read_years(text) == years


def test_years_come_from_field_text_price_and_suffix() -> None:
    [renewal] = made(line("21.50", "harbour.com"))
    price = Money.of("10.75", "USD")
    assert find_years(renewal, price=price) == 2
    assert find_years(renewal, price=Money.of("8.00", "USD")) is None
    assert find_years(renewal, price=Money.of("10.75", "EUR")) is None
    assert find_years(replace(renewal, description="5 years"), price=price) == 5
    assert find_years(replace(renewal, years=3), price=price) == 3
    transfer = replace(renewal, kind=ChargeKind.TRANSFER)
    assert find_years(transfer, price=price) == 1
    assert find_years(replace(transfer, domain="harbour.de"), price=None) is None


def test_equal_rows_of_a_file_are_numbered() -> None:
    same = line("5.00", "a.com", line_id="", order_id="")
    rows = [same, same, replace(same, charged_on=date(2026, 1, 1)), replace(same, line_id="7")]
    numbered = list(number_repeats(rows))
    assert len({each.line_id for each in numbered}) == 4
    assert list(number_repeats(rows)) == numbered
