"""A thousand charges of all shapes against a truth that was written beside them."""

from collections import Counter, defaultdict
from decimal import Decimal

from builders.kit.values.domain_names import find_a_label
from builders.portfolio.billing.records import MIN_CONFIDENCE
from tests.cast import Person
from tests.portfolio.billing.make import Json, add_domains, apply, bill, charges, entries
from tests.portfolio.billing.population import Population

COUNT = 1_000


async def list_all(alice: Person) -> tuple[list[Json], Json]:
    """All charges, and the last page."""
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        page = await charges(alice, limit=600, **cursor)
        found += page["items"]
        if page["next_cursor"] is None:
            return found, page
        cursor = {"cursor": page["next_cursor"]}


async def test_a_thousand_charges(alice: Person) -> None:
    population = Population(seed=20_261_121, count=COUNT)
    held = await add_domains(alice, *population.domains, registrar="NameSilo")
    lines = [each.line for each in population.truths]
    for at in range(0, len(lines), 400):
        await bill(alice, *lines[at : at + 400])
    await apply(alice)
    found, page = await list_all(alice)
    assert len(found) >= COUNT
    by_line = defaultdict(list)
    for each in found:
        by_line[each["order_id"], each["line_id"]].append(each)

    right = wrong = missed = 0
    for truth in population.truths:
        parts = by_line[truth.line.order_id, truth.line.line_id]
        expected = Counter(str(held[find_a_label(each) or ""]) for each in truth.domains)
        seen = Counter(
            each["match"]["domain_id"]
            for each in parts
            if each["match"]["domain_id"] and Decimal(each["match"]["confidence"]) >= MIN_CONFIDENCE
        )
        assert sum(Decimal(each["total"]["amount"]) for each in parts) == truth.line.total
        wrong += (seen - expected).total()
        missed += (expected - seen).total()
        right += (expected & seen).total() if expected else len(parts) - seen.total()
    figures = f"{len(found)} charges: {right} right, {missed} missed, {wrong} wrong"
    assert wrong == 0, figures
    assert right >= 0.95 * len(found), figures

    await require_every_cent(alice, population, page["totals"]["by_currency"])

    # The same bills again change nothing.
    for at in range(0, len(lines), 400):
        await bill(alice, *lines[at : at + 400])
    assert (await apply(alice))["applied"] == 0
    assert (await charges(alice, limit=1))["totals"] == page["totals"]


async def require_every_cent(alice: Person, population: Population, sums: list[Json]) -> None:
    """Every cent of the bills is booked or open, in each currency."""
    booked: dict[str, Decimal] = defaultdict(Decimal)
    for _, kind, amount, currency, source, _ in await entries(alice):
        assert source == "sync"
        booked[currency] += -amount if kind == "refund" else amount
    totals = {each["currency"]: each for each in sums}
    assert totals.keys() == population.bills().keys()
    for currency, billed in population.bills().items():
        own = {name: Decimal(value["amount"]) for name, value in totals[currency].items() if name != "currency"}
        assert own["applied"] == booked[currency]
        assert own["total"] == billed == own["applied"] + own["unmatched"] + own["suggested"]
        assert own["matched"] == own["ignored"] == 0
