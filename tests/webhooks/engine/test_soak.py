"""The short form of soak/deliveries.py: a worker is killed during delivery, partly to failing receivers."""

from pathlib import Path

from builders.kit.process.settings import Settings
from soak.deliveries import Plan, soak

PLAN = Plan(
    events=300,
    destinations=10,
    kills=2,
    seed=20261120,
    workers=1,
    of_account=5,
    seconds=6,
    within_s=90,
    in_short=True,
)


async def test_healthy_receivers_get_every_event_when_the_worker_is_killed(own: Settings, tmp_path: Path) -> None:
    assert own.database_url is not None
    result = await soak(own.database_url.get_secret_value(), tmp_path, PLAN)
    assert result.wrong == []
    assert result.kills == PLAN.kills
    assert result.arrived == 5 * 150  # of the ten destinations five are healthy, with half of the events each
