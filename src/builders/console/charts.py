"""The geometry of charts: where the values of amounts stand in a drawing. The macros of charts.html draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import floor, log10
from typing import Any

WIDTH, HEIGHT = 720, 220  # of a drawing, in its own units
LEFT, RIGHT, TOP, BOTTOM = 64, 8, 8, 24  # margins, which contain the labels of the axes
INNER_WIDTH, INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
MAX_TICKS, MAX_LABELS = 5, 12
MAX_POINTS = 200  # of a line
MAX_BARS = 180  # of all series
SMALLEST = 0.01  # difference of two labels of the vertical axis
UNITS = ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k"))  # of the labels of the vertical axis
LETTER, GAP = 6.5, 8  # width of a letter of a label, and the space between two labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A label of an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar of a chart."""

    x: float
    y: float
    width: float
    height: float
    of: int  # number of its series


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing: bars, or one line for each series."""

    ticks: Sequence[Mark]  # of the vertical axis
    labels: Sequence[Mark]  # of the horizontal axis
    zero: float  # the height of zero
    bars: Sequence[Bar] = ()
    lines: Sequence[str] = ()  # the points of each


def newest(labels: Sequence[str], series: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """Return the last labels and their amounts, as many as a chart has bars for."""
    number = MAX_BARS // max(1, len(series))
    return {
        "labels": labels[-number:],
        "series": {name: amounts[-number:] for name, amounts in series.items()},
        "is_all": len(labels) <= number,
    }


def by_currency(rows: Sequence[Mapping[str, Any]], base: str) -> Mapping[str, Sequence[Any]]:
    """Return the amounts of sums by the currency of the prices; none if all are in the base currency.

    An amount is None where a sum has none in the currency.
    """
    sums = [{each["currency"]: each for each in row["by_currency"]} for row in rows]
    currencies = sorted({currency for found in sums for currency in found})
    if currencies == [base]:
        return {}
    return {f"In {currency}": [found.get(currency) for found in sums] for currency in currencies}


def bar_chart(labels: Sequence[str], series: Mapping[str, Sequence[Any]]) -> Chart:
    """Return a group of bars for each label, with a bar for each series of amounts; an amount may be None."""
    values = [list(map(_value, each)) for each in series.values()]
    low, high, ticks = _scale([each for row in values for each in row])
    group = INNER_WIDTH / max(1, len(labels))
    width = group * 0.8 / max(1, len(values))
    zero = _height(0, low, high)
    bars = []
    for of, row in enumerate(values):
        for at, value in enumerate(row):
            y, x = _height(value, low, high), LEFT + group * (at + 0.1) + width * of
            top, height = round(min(y, zero), 1), round(abs(y - zero), 1)
            bars.append(Bar(x=round(x, 1), y=top, width=round(width, 1), height=height, of=of))
    middles = [LEFT + group * (at + 0.5) for at in range(len(labels))]
    return Chart(ticks=ticks, labels=_thinned(middles, labels), zero=round(zero, 1), bars=bars)


def line_chart(days: Sequence[str], series: Mapping[str, Sequence[Any]]) -> Chart:
    """Return a line for each series: its amounts on days, which are in order; each lasts until the next one."""
    values = [list(map(_value, each)) for each in series.values()]
    low, high, ticks = _scale([each for row in values for each in row])
    ordinals = [date.fromisoformat(each).toordinal() for each in days]
    span = max(1, ordinals[-1] - ordinals[0]) if ordinals else 1
    at = [LEFT + INNER_WIDTH * (each - ordinals[0]) / span for each in ordinals]
    lines = []
    for row in values:
        points: list[tuple[float, float]] = []
        for x, value in zip(at, row, strict=True):
            y = _height(value, low, high)
            points += [(x, points[-1][1]), (x, y)] if points else [(x, y)]
        lines.append(" ".join(f"{x:.1f},{y:.1f}" for x, y in points))
    ends = [(at[0], days[0]), (at[-1], days[-1])] if days else []
    marks = [Mark(at=round(x, 1), text=text) for x, text in ends]
    return Chart(ticks=ticks, labels=marks, zero=round(_height(0, low, high), 1), lines=lines)


def accumulated(entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the days of ledger entries, and the sums of costs and of income up to each, in the base currency.

    Void entries, and those without a rate, count nothing.
    """
    sums, days = {"cost": 0.0, "income": 0.0}, dict[str, tuple[float, float]]()
    for each in sorted(entries, key=lambda entry: str(entry["occurred_on"])):
        if each["voided_at"] is None and each["base_amount"] is not None:
            value = float(each["base_amount"]["amount"])
            is_cost = each["signed_amount"]["amount"].startswith("-")
            sums["cost" if is_cost else "income"] += abs(value)
            days[each["occurred_on"]] = sums["cost"], sums["income"]
    kept = list(days.items())[-MAX_POINTS:]
    return {
        "days": [day for day, _ in kept],
        "series": {"Cost": [cost for _, (cost, _) in kept], "Income": [income for _, (_, income) in kept]},
    }


def _value(amount: Any) -> float:
    """Return the size of an amount, which only the drawing rounds."""
    return float(amount["amount"]) if isinstance(amount, Mapping) else float(amount or 0)


def _scale(values: Sequence[float]) -> tuple[float, float, Sequence[Mark]]:
    """Return the lowest and the highest value of the axis, which contains zero, and its round labels."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    rough = (high - low) / (MAX_TICKS - 1) or 1.0
    power = 10 ** floor(log10(rough))
    step = max(SMALLEST, next(power * each for each in (1, 2, 5, 10) if power * each >= rough))
    first, last = floor(low / step), -floor(-high / step)
    last = max(last, first + 1)
    low, high = first * step, last * step
    ticks = [
        Mark(at=round(_height(at * step, low, high), 1), text=_tick(at * step, step))
        for at in range(first, last + 1)
    ]
    return low, high, ticks


def _tick(value: float, step: float) -> str:
    """Return the label of a value, as short as a narrow screen needs it."""
    for unit, letter in UNITS:
        if step >= unit and value:
            return f"{value / unit:,.0f}{letter}"
    return f"{value:,.{2 if step < 1 else 0}f}"


def _height(value: float, low: float, high: float) -> float:
    return TOP + INNER_HEIGHT * (high - value) / (high - low)


def _thinned(middles: Sequence[float], labels: Sequence[str]) -> Sequence[Mark]:
    """Return as many labels as fit beside each other, without one that the edge would cut off."""
    width = LETTER * max(map(len, labels), default=0) + GAP
    step = -(-len(labels) // min(MAX_LABELS, int(INNER_WIDTH / width))) or 1
    shown = list(zip(middles, labels, strict=True))[::step]
    return [Mark(at=round(x, 1), text=text) for x, text in shown if x + LETTER * len(text) / 2 <= WIDTH]
