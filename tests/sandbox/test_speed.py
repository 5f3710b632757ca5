"""A plan and a promotion of ten times as many names make at most twelve times as many function calls.

test_statements.py bounds the number of statements, so PostgreSQL looks up keys.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType

from builders.kit.db.connections import Database
from builders.kit.http.callers import OPERATOR
from builders.sandbox import service as sandbox
from builders.sandbox.records import Plan, TargetAccount
from builders.sandbox.schemas.manifest import SandboxManifest
from tests.cast import Person
from tests.sandbox.make import alias, crew, manifest, order, parameters, run

FEW, MANY, MAX_RATIO = 200, 2000, 12


class Calls:
    """The number of function calls in a block, of Python and of C."""

    count = 0

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.count += event in {"call", "c_call"}

    @contextmanager
    def counted(self) -> Iterator[None]:
        sys.setprofile(self._count)
        try:
            yield
        finally:
            sys.setprofile(None)


async def test_ten_times_the_names_make_at_most_twelve_times_the_calls(
    alice: Person, database: Database, domain: str
) -> None:
    await calls_of(alice, database, domain, size=10)  # fills caches
    few, many = [await calls_of(alice, database, domain, size=size) for size in (FEW, MANY)]
    assert many[0] <= MAX_RATIO * few[0], "planning"
    assert many[1] <= MAX_RATIO * few[1], "promoting"


async def calls_of(person: Person, database: Database, domain: str, *, size: int) -> tuple[int, int]:
    """Return the number of calls to plan, and to promote, so many names."""
    planning, promoting = Calls(), Calls()
    names = [alias(f"n{size}x{each}") for each in crew(size, domain)]
    with planning.counted():
        plan = await planned(person, database, f"n{size}", names)
    with promoting.counted():
        await promoted(person, database, plan)
    return planning.count, promoting.count


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
