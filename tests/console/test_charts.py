"""The geometry of charts."""

from datetime import date, timedelta

import pytest
from jinja2 import Environment, PackageLoader

from builders.console import charts
from builders.console.views import money
from tests.portfolio.finance.make import usd


def test_a_bar_stands_on_zero_and_is_as_high_as_its_amount() -> None:
    chart = charts.bar_chart(["a", "b", "c"], {"Net": [usd("10.00"), usd("-10.00"), usd("0.00")]})
    up, down, none = chart.bars

    assert (up.height, none.height) == (down.height, 0)
    assert round(up.y + up.height, 1) == down.y == chart.zero


def test_no_amount_is_drawn_as_nothing() -> None:
    assert [each.height for each in charts.bar_chart(["a"], {"Cost": [None], "Income": [usd("0.00")]}).bars] == [
        0,
        0,
    ]
    assert charts.line_chart([], {"Cost": []}).lines == [""]


@pytest.mark.parametrize("amount", ["0.01", "0.37", "9.99", "12345678901234.56"])
def test_the_axis_has_few_round_labels_that_enclose_the_amounts(amount: str) -> None:
    chart = charts.bar_chart(["a"], {"Cost": [usd(amount)]})

    assert 2 <= len(chart.ticks) <= charts.MAX_TICKS + 1
    assert len({each.text for each in chart.ticks}) == len(chart.ticks)
    assert all(each.y >= charts.TOP for each in chart.bars)


def test_many_months_have_as_many_labels_as_fit() -> None:
    labels = [str(each) for each in range(120)]

    assert len(charts.bar_chart(labels, {"Cost": [usd("1.00")] * 120}).labels) <= charts.MAX_LABELS


@pytest.mark.parametrize(
    ("amount", "highest"),
    [("0.37", "0.40"), ("370.00", "400"), ("3700.00", "4k"), ("3700000.00", "4M"), ("3700000000.00", "4B")],
)
def test_a_label_of_the_axis_is_short(amount: str, highest: str) -> None:
    chart = charts.bar_chart(["a"], {"Cost": [usd(amount)]})

    assert (chart.ticks[0].text, chart.ticks[-1].text) == ("0.00" if amount == "0.37" else "0", highest)


def test_a_label_at_the_edge_is_not_cut_off() -> None:
    days = [f"{date(2026, 1, 1) + timedelta(days=each)}" for each in range(31)]
    last = charts.bar_chart(days, {"Cost": [usd("1.00")] * 31}).labels[-1]

    assert last.at + charts.LETTER * len(last.text) / 2 <= charts.WIDTH


def test_costs_and_income_accumulate_without_void_entries() -> None:
    def entry(day: str, amount: str, *, void: bool = False) -> dict[str, object]:
        money = usd(amount)
        return {
            "occurred_on": day,
            "signed_amount": money,
            "base_amount": money,
            "voided_at": "2026-01-01T00:00:00Z" if void else None,
        }

    entries = [entry("2026-01-02", "-10.00"), entry("2026-01-01", "-5.00"), entry("2026-01-02", "3.00")]
    found = charts.accumulated([*entries, entry("2026-01-03", "-99.00", void=True)])

    assert found == {
        "days": ["2026-01-01", "2026-01-02"],
        "series": {"Cost": [5.0, 15.0], "Income": [0.0, 3.0]},
    }


@pytest.mark.parametrize("macro", ["bars", "lines"])
def test_the_largest_chart_is_bounded(macro: str) -> None:
    environment = Environment(loader=PackageLoader("builders.console"), autoescape=True)
    environment.filters["money"] = money
    environment.globals |= {each.__name__: each for each in (charts.bar_chart, charts.line_chart, charts.newest)}
    of_bars = "charts.bars('id', 'Title', 'Text', 'Month', labels, series)"
    of_lines = "charts.lines('id', 'Title', 'Text', labels, series, 'table')"
    called = {"bars": of_bars, "lines": of_lines}[macro]
    source = f"{{% import 'charts.html' as charts with context %}}{{{{ {called} }}}}"
    template = environment.from_string(source)
    number = {"bars": 1_000, "lines": charts.MAX_POINTS}[macro]
    labels = [(date(2026, 1, 1) + timedelta(days=at)).isoformat() for at in range(number)]
    series = {name: [usd(f"{at}.37") for at in range(number)] for name in ("Cost", "Income")}
    text = template.render(labels=labels, series=series)

    drawn = text.count("<rect") + text.count("<polyline")
    assert (drawn, "the last 90 of 1000" in text) == ((charts.MAX_BARS, True) if macro == "bars" else (2, False))
