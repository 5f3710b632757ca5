"""Ten times the names cost at most twelve times as much to plan and to promote, in one run.

Counted in processor time, which other tests beside it do not lengthen; what PostgreSQL does is bounded by the
number of statements (test_statements.py) and by look-ups of keys.
"""

import gc
import time
from collections.abc import Iterator
from datetime import timedelta
from statistics import median

import pytest

from builders.kit.db.connections import Database
from builders.kit.http.callers import OPERATOR
from builders.sandbox import service as sandbox
from builders.sandbox.records import Plan, TargetAccount
from builders.sandbox.schemas.manifest import SandboxManifest
from tests.cast import Person
from tests.sandbox.make import alias, crew, manifest, order, parameters, run

FEW, MANY, MOST = 200, 2000, 12


@pytest.fixture
def collected() -> Iterator[None]:
    """The collector leaves alone what was there before, as in a serving process, and not all of the tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("collected")
async def test_ten_times_the_names_cost_at_most_twelve_times(
    alice: Person, database: Database, domain: str
) -> None:
    """From beginning to end, on tables that were never analysed; what the machine does beside it is no fault."""
    await measured(alice, database, domain, "w", few=10, many=10)
    for attempt in ("a", "b", "c"):
        ratios = await measured(alice, database, domain, attempt, few=FEW, many=MANY)
        if max(ratios) <= MOST:
            break
    assert max(ratios) <= MOST


async def measured(
    person: Person, database: Database, domain: str, tag: str, *, few: int, many: int
) -> list[float]:
    """How many times as long it takes to plan and to promote many names as few; the median of a few runs."""
    planning: list[tuple[int, float]] = []
    promoting: list[tuple[int, float]] = []
    for nth, size in enumerate((few, few, few, many, many)):
        name = f"{tag}{nth}"
        names = [alias(f"{name}{each}") for each in crew(size, domain)]
        for _ in range(2):
            begun = time.process_time()
            plan = await planned(person, database, name, names)
            planning.append((size, time.process_time() - begun))
        begun = time.process_time()
        await promoted(person, database, plan)
        promoting.append((size, time.process_time() - begun))
    ratios = [usual(times, many) / usual(times, few) for times in (planning, promoting)]
    print(  # noqa: T201 - figures for whoever runs it with -s
        f"planning {ratios[0]:.1f} times, {usual(planning, many):.2f} s for {many}; "
        f"promoting {ratios[1]:.1f} times, {usual(promoting, many):.2f} s for {many}"
    )
    return ratios


def usual(times: list[tuple[int, float]], size: int) -> float:
    """The time of a size in the middle: of many runs the shortest would be luckier than of few."""
    return median(seconds for each, seconds in times if each == size)


async def planned(person: Person, database: Database, name: str, names: list[dict[str, object]]) -> Plan:
    body = SandboxManifest.model_validate(manifest(names, name=name))
    return await sandbox.make_plan(
        database,
        outbound=person.service.api.state.outbound,
        target=TargetAccount(account_id=person.account.id),
        manifest=body.manifest(),
        cooling_off=timedelta(hours=24),
        actor=OPERATOR,
    )


async def promoted(person: Person, database: Database, plan: Plan) -> None:
    consent = {"id": str(plan.id), "digest": plan.digest, "confirm_deletes": 0}
    begun = await run(database, person, order(consent))
    owner = {"account_id": person.account.id, "promotion_id": begun.id}
    ended = await sandbox.run_promotion(database, **owner, parameters=parameters(person))
    assert {step.status for step in ended.steps} == {"succeeded"}
