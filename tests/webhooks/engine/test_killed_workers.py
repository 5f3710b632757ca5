"""A worker is killed during delivery, partly to faulty receivers; soak/deliveries.py is the long form."""

from pathlib import Path

from builders.kit.process.settings import Settings
from tests.webhooks.engine.killed_workers import Plan, run

PLAN = Plan(
    events=100,
    destinations=10,
    kills=1,
    seed=20261120,
    workers=1,
    of_account=5,
    seconds=2,
    within_s=90,
    is_short=True,
)


async def test_healthy_receivers_get_every_event_when_the_worker_is_killed(own: Settings, tmp_path: Path) -> None:
    assert own.database_url is not None
    result = await run(own.database_url.get_secret_value(), tmp_path, PLAN)
    assert result.errors == []
    assert result.kills == PLAN.kills
    assert result.arrived == 5 * 50  # of the ten destinations five are healthy, with half of the events each
