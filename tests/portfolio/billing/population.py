"""A generated portfolio and 1,000 charges of all shapes, with the truth about each of them."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from builders.kit.values.money import decimals_of
from builders.portfolio.registrars.records import BilledLine, ChargeKind

WORDS = ("harbour", "lantern", "pier", "anchor", "beacon", "compass", "tide", "reef", "sail", "cargo")
MORE = ("bright", "old", "silent", "north", "grand", "little", "iron", "copper", "amber", "deep")
SUFFIXES = ("com", "net", "org", "io", "co.uk", "de", "shop")
IDN = ("bücher-{}.de", "münchen-{}.com", "señal-{}.es", "日本-{}.jp")
CURRENCIES = ("USD", "EUR", "GBP", "JPY")
START = date(2026, 1, 1)
KINDS = {
    ChargeKind.REGISTRATION: "Domain Registration",
    ChargeKind.RENEWAL: "Domain Renewal",
    ChargeKind.TRANSFER: "Transfer-in",
    ChargeKind.REDEMPTION: "Redemption fee",
    ChargeKind.PRIVACY: "WHOIS privacy",
}


@dataclass(frozen=True, slots=True)
class Truth:
    """What a charge is for, as those know who made it up: a domain as it is written, or none of the portfolio."""

    line: BilledLine
    domains: tuple[str, ...]


@dataclass
class Population:
    """Domains, and lines of bills about them."""

    seed: int
    count: int
    domains: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - of a test
        self._orders = 0
        names = [
            f"{more}-{word}{at}.{suffix}" for at, suffix in enumerate(SUFFIXES) for word in WORDS for more in MORE
        ]
        names += [each.format(at) for at in range(10) for each in IDN]
        names += [f"{word}{at}x{at}.com" for at, word in enumerate(WORDS)]
        self._random.shuffle(names)
        self.domains, self.strangers = names[:300], names[300:]
        shapes: Sequence[Callable[[], None]] = (
            *([self._field] * 8),
            *([self._host] * 2),
            *([self._text] * 6),
            *([self._address] * 2),
            *([self._columns] * 3),
            *([self._shared] * 2),
            *([self._listed] * 1),
            *([self._refund] * 3),
            *([self._stranger] * 1),
        )
        while self._size() < self.count:
            self._random.choice(shapes)()

    def _size(self) -> int:
        return sum(max(1, len(each.domains)) for each in self.truths)

    def bills(self) -> dict[str, Decimal]:
        """The sum of the bills of each currency."""
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for each in self.truths:
            sums[each.line.currency] += each.line.total
        return dict(sums)

    def _add(self, *domains: str, named: Sequence[str] = (), description: str = "", **more: object) -> None:
        self._orders += 1
        currency = self._random.choice(CURRENCIES)
        kind = self._random.choice(list(KINDS))
        coins = Decimal(self._random.randint(100, 99_999))
        values: dict[str, object] = {
            "order_id": f"{self._orders + 70_000}",
            "line_id": "1",
            "charged_on": START + timedelta(days=self._random.randint(0, 250)),
            "kind": kind,
            "total": coins.scaleb(-decimals_of(currency)),
            "currency": currency,
            "description": description.replace("{kind}", KINDS[kind]),
        }
        line = BilledLine(domains=tuple(named), **(values | more))  # type: ignore[arg-type] # of values
        self.truths.append(Truth(line, domains))

    def _name(self) -> str:
        return self._random.choice(self.domains)

    def _cased(self, name: str) -> str:
        return self._random.choice((name, name.upper(), name.title(), f"{name}.", f" {name} "))

    def _field(self) -> None:
        name = self._name()
        self._add(name, named=[self._cased(name)], description="{kind}")

    def _host(self) -> None:
        name = self._name()
        self._add(name, named=[f"www.{name}"])

    def _text(self) -> None:
        name = self._name()
        form = self._random.choice(
            (
                "{kind} - %s - 1 year",
                "%s - {kind}",
                "{kind} for %s (2 years) invoice 12.34",
                "Order 4711: %s / {kind} / qty 1",
                'Product "%s", {kind}',
            )
        )
        self._add(name, description=form % self._cased(name).strip())

    def _address(self) -> None:
        name = self._name()
        form = self._random.choice(("{kind} https://www.%s/ for ada@example.net", "{kind}: www.%s", "http://%s"))
        self._add(name, description=form % name)

    def _columns(self) -> None:
        """A name that the field has without its suffix, and the description with it."""
        name = self._name()
        self._add(name, named=["n/a"], description=f"{{kind}} {name}")

    def _shared(self) -> None:
        names = self._random.sample(self.domains, self._random.randint(2, 5))
        self._add(*names, named=names)

    def _listed(self) -> None:
        names = self._random.sample(self.domains, 3)
        self._add(*names, description="{kind}: " + ", ".join(names))

    def _refund(self) -> None:
        """By parent order without a name; by name in the same order; by name and amount."""
        paid = [
            each for each in self.truths if len(each.domains) == 1 and each.line.total > 0 and each.line.domains
        ]
        if not paid:
            return
        was = self._random.choice(paid)
        more: dict[str, Any] = {
            "kind": ChargeKind.REFUND,
            "total": -was.line.total,
            "currency": was.line.currency,
            "charged_on": was.line.charged_on + timedelta(days=self._random.randint(0, 50)),
        }
        form = self._random.randint(0, 2)
        if form == 0:
            self._add(*was.domains, description="Refund", **(more | {"parent_order_id": was.line.order_id}))
        elif form == 1:
            again = more | {"order_id": was.line.order_id, "line_id": f"refund-{len(self.truths)}"}
            self._add(*was.domains, description="Refund", **again)
        else:
            self._add(*was.domains, named=was.domains, **more)

    def _stranger(self) -> None:
        """A domain that is not in the portfolio, a similar one, or no domain at all."""
        name = self._random.choice(self.strangers)
        form = self._random.randint(0, 2)
        if form == 0:
            self._add(named=[name])
        elif form == 1:
            self._add(description=f"{{kind}} my-{self._name()}")
        else:
            self._add(description="Annual membership fee")
