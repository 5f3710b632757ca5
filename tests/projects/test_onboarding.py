from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.profile.make import ProfileWorker, me, steps
from tests.projects.make import create


async def test_the_first_live_project_completes_an_onboarding_step(
    alice: Person, database: Database, settings: Settings
) -> None:
    worker = ProfileWorker(database, settings)
    await create(alice.test)
    await worker.work()
    assert "create_project" not in steps(await me(alice))

    await create(alice)
    await worker.work()
    profile = await me(alice)
    assert "create_project" in steps(profile)
    assert profile["roles"] == ["builder"]
