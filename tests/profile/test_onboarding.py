import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock
from builders.profile import jobs as profile_jobs, onboarding
from builders.profile.records import StepKey, StoredProfile, Track
from tests.cast import Person
from tests.plans.make import Domains, alias, plan, promote
from tests.profile.make import COMPLETE, CONFIRM, Json, ProfileWorker, me, patch, published, steps

COMMON = {"verify_email", "complete_profile", "create_api_key"}


class Nothing(BaseModel):
    """An event without data."""


def of(name: str) -> Event:
    return Event(name=name, version=1, description="For the test.", data=Nothing)


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a live domain of the catalog."""
    return await Domains(database, folder=tmp_path, assets=assets)()


async def publish_events(database: Database, person: Person, *names: str, sandbox: bool = False) -> None:
    """Publish events without data."""
    async with database.transaction() as conn:
        for name in names:
            account_id = person.account.sandbox_id if sandbox else person.account.id
            await outbox.publish(conn, of(name), account_id=account_id, data=Nothing())


async def test_steps_have_an_order_and_a_track(alice: Person) -> None:
    shown = (await me(alice))["onboarding"]["steps"]

    assert [(each["track"], each["key"]) for each in shown] == [
        ("common", "verify_email"),
        ("common", "complete_profile"),
        ("common", "create_api_key"),
        ("builder", "create_project"),
        ("builder", "first_plan"),
        ("builder", "first_promote"),
        ("domainer", "add_domain"),
        ("domainer", "connect_registrar"),
    ]


async def test_a_verified_account_with_a_key_has_done_two_steps(alice: Person, worker: ProfileWorker) -> None:
    await worker.work()

    profile = await me(alice)
    assert steps(profile) == {"verify_email", "create_api_key"}
    assert profile["onboarding"]["status"] == "in_progress"
    assert profile["onboarding"]["next_action"] == (
        "PATCH /v1/me with the missing members: display_name, country, timezone."
    )


async def test_an_unverified_account_has_to_confirm_its_address(ursula: Person, worker: ProfileWorker) -> None:
    await worker.work()
    profile = await me(ursula)
    assert steps(profile) == {"create_api_key"}
    assert "resend" in profile["onboarding"]["next_action"]

    await ursula.get(CONFIRM, params={"token": await worker.token(ursula.account.email)})
    assert steps(await me(ursula)) == {"create_api_key", "verify_email"}


async def test_the_last_required_member_completes_the_profile(alice: Person) -> None:
    assert steps(await patch(alice, display_name="Ada", country="GB")) == set()
    profile = await patch(alice, timezone="Europe/London")

    assert (steps(profile), profile["version"]) == ({"complete_profile"}, 3)
    assert steps(await patch(alice, timezone=None)) == {"complete_profile"}  # a completed step stays completed


async def test_a_step_has_the_time_of_its_event(alice: Person, worker: ProfileWorker) -> None:
    clock.move(timedelta(hours=1))
    await worker.work()

    shown = {each["key"]: each["done_at"] for each in (await me(alice))["onboarding"]["steps"]}
    listed = (await alice.get("/v1/api-keys")).json()["items"]
    first = min(each["created_at"] for each in listed)
    gap = datetime.fromisoformat(shown["create_api_key"]) - datetime.fromisoformat(first)
    assert 0 <= gap.total_seconds() < 3600


async def test_plan_and_promotion_are_steps_of_the_builder_track(
    alice: Person, worker: ProfileWorker, domain: str
) -> None:
    planned = await plan(alice.test, alias(f"ada@{domain}"))  # a plan with a test key counts too
    await worker.work()
    assert "first_plan" in steps(await me(alice))

    await promote(alice, planned)
    await worker.work()
    assert steps(await me(alice)) >= {"first_plan", "first_promote"}


async def test_a_plan_with_errors_does_not_count(alice: Person, worker: ProfileWorker) -> None:
    planned = await plan(alice, alias("ada@nowhere.example"))
    assert planned["status"] == "blocked"
    await worker.work()

    assert "first_plan" not in steps(await me(alice))


async def test_events_of_a_sandbox_account_do_not_count(alice: Person, worker: ProfileWorker) -> None:
    await publish_events(worker.database, alice, "project.created", "promotion.completed", sandbox=True)
    await worker.work()

    assert steps(await me(alice)) == {"verify_email", "create_api_key"}


async def test_bob_has_his_own_steps(alice: Person, bob: Person, worker: ProfileWorker) -> None:
    await publish_events(worker.database, alice, "project.created")
    await worker.work()

    assert "create_project" in steps(await me(alice))
    assert "create_project" not in steps(await me(bob))


@pytest.mark.parametrize(
    ("names", "track", "preset"),
    [
        (("project.created", "promotion.completed"), "builder", "developer_full"),
        (("portfolio.domain.added", "portfolio.registrar.connected"), "domainer", "domainer_full"),
    ],
)
async def test_the_common_steps_and_one_track_complete_onboarding_once(
    alice: Person, worker: ProfileWorker, conn: Conn, domain: str, names: tuple[str, ...], track: str, preset: str
) -> None:
    await patch(alice, **COMPLETE)
    await publish_events(worker.database, alice, *names)
    if track == "builder":
        await worker.work()
        assert await published(conn, alice, "onboarding.completed") == []
        assert (await me(alice))["onboarding"]["next_action"].startswith("Plan a manifest")
        await plan(alice, alias(f"ada@{domain}"))
    await worker.work()

    profile = await me(alice)
    [event] = await published(conn, alice, "onboarding.completed")
    assert (profile["onboarding"]["status"], profile["onboarding"]["next_action"]) == ("completed", None)
    assert event | {"steps": None, "duration_s": None} == {
        "account_id": str(alice.account.id),
        "track": track,
        "preset": preset,
        "steps": None,
        "completed_at": profile["onboarding"]["completed_at"],
        "duration_s": None,
    }
    assert {each["key"] for each in event["steps"]} >= COMMON
    await publish_events(worker.database, alice, "portfolio.registrar.connected", "promotion.completed")
    await worker.work()
    assert len(await published(conn, alice, "onboarding.completed")) == 1


async def test_a_domain_added_to_the_portfolio_is_a_step(dana: Person, worker: ProfileWorker) -> None:
    assert (await dana.post("/v1/portfolio/domains", json={"domain": "harbour.com"})).status_code == 201
    await worker.work()

    assert "add_domain" in steps(await me(dana))


async def test_an_import_and_a_registrar_complete_the_domainer_track(
    dana: Person, worker: ProfileWorker, conn: Conn
) -> None:
    await patch(dana, **COMPLETE)
    for text, is_step in (("www.harbour.com", False), ("harbour.com", True)):
        imported = await dana.post("/v1/portfolio/import", json={"domains": [text]})
        assert imported.json()["summary"]["created"] == is_step
        await worker.work()
        assert ("add_domain" in steps(await me(dana))) is is_step
    assert (await me(dana))["onboarding"]["next_action"].startswith("Connect a registrar")
    body = {"credentials": {"api_key": "pk1_0123456789", "secret_api_key": "sk1_0123456789"}, "verify": False}
    assert (await dana.put("/v1/portfolio/registrars/porkbun", json=body)).status_code == 200
    await worker.work()

    [event] = await published(conn, dana, "onboarding.completed")
    assert (event["track"], event["preset"]) == ("domainer", "domainer_full")


async def test_concurrent_last_steps_complete_onboarding_once(
    alice: Person, worker: ProfileWorker, conn: Conn, database: Database
) -> None:
    """Each subscriber has its own transaction, and must see the step of the other one."""
    await patch(alice, **COMPLETE)
    await worker.work()

    async def note(step: StepKey) -> None:
        async with database.transaction() as own:
            await onboarding.record_step(own, account_id=alice.account.id, step=step, at=clock.now())

    for _ in range(3):
        await asyncio.gather(*(note(step) for step in onboarding.TRACKS[Track.BUILDER]))

    assert (await me(alice))["onboarding"]["status"] == "completed"
    assert len(await published(conn, alice, "onboarding.completed")) == 1


async def test_a_repeated_event_is_no_new_version(alice: Person, worker: ProfileWorker) -> None:
    await publish_events(worker.database, alice, "project.created")
    await worker.work()
    before: Json = await me(alice)
    await publish_events(worker.database, alice, "project.created")
    await worker.work()

    assert await me(alice) == before


def test_every_proof_is_a_declared_event() -> None:
    declared = {event.name for event in outbox.list_events()}

    assert profile_jobs.PROOFS.keys() <= declared


def test_every_step_has_a_proof() -> None:
    proved = {step for step, _ in profile_jobs.PROOFS.values()}

    assert {step for keys in onboarding.TRACKS.values() for step in keys} == set(StepKey)
    assert set(StepKey) - proved == {StepKey.COMPLETE_PROFILE}


@pytest.mark.parametrize(
    ("done", "step"),
    [
        pytest.param([], StepKey.CREATE_PROJECT, id="none: the track of builders"),
        pytest.param([StepKey.ADD_DOMAIN], StepKey.CONNECT_REGISTRAR, id="a step of domainers: their track"),
    ],
)
def test_the_next_action_is_of_the_track_with_the_most_steps_done(done: list[StepKey], step: StepKey) -> None:
    common = {step.value: clock.now() for step in onboarding.TRACKS[Track.COMMON]}
    stored = StoredProfile(steps={**common, **{each.value: clock.now() for each in done}})

    assert onboarding.describe(stored).next_action == onboarding.NEXT_ACTIONS[step]
    domainer = onboarding.describe(StoredProfile(steps=common, roles=("domainer",))).next_action
    assert domainer == onboarding.NEXT_ACTIONS[StepKey.ADD_DOMAIN]
