"""Programs that try to become a person who approves, against policies in force."""

from datetime import timedelta

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.team.deciders import WAIT
from tests.cast import Client, Person
from tests.domains.make import assign
from tests.plans.approval.make import ALWAYS, appoint, join_team, send_decision, set_policy
from tests.plans.make import alias, plan, unique_domain
from tests.portfolio.team.make import code, confirm_path, member_path, of, reason
from tests.profile.make import CONFIRM, ME, ProfileWorker


@pytest.fixture
def worker(database: Database, settings: Settings) -> ProfileWorker:
    return ProfileWorker(database, settings)


async def move(person: Person, anyone: Client, worker: ProfileWorker, address: str) -> None:
    """Change the address of an account with its key, which reads the new mailbox."""
    answer = await person.patch(ME, json={"email": address})
    assert answer.status_code == 200, answer.text
    confirmed = await anyone.get(CONFIRM, params={"token": await worker.token(address)})
    assert confirmed.status_code == 200, confirmed.text


async def test_a_key_does_not_move_the_account_to_its_own_mailbox(alice: Person) -> None:
    await set_policy(alice, **ALWAYS)

    assert reason(await alice.patch(ME, json={"email": f"{ids.new()}@example.net"})) == (
        403,
        "person_required",
        "api_key",
    )


async def test_a_key_that_moved_it_before_the_policy_confirms_no_address_later(
    alice: Person, anyone: Client, worker: ProfileWorker
) -> None:
    address = f"{ids.new()}@example.net"
    await alice.patch(ME, json={"email": address})
    token = await worker.token(address)
    await set_policy(alice, **ALWAYS)

    assert code(await anyone.get(CONFIRM, params={"token": token})) == (400, "token_invalid")


async def test_who_signs_in_with_an_address_that_a_key_moved_waits_a_day(
    alice: Person, charlie: Person, anyone: Client, worker: ProfileWorker, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    planned = await plan(alice, alias(f"ada@{domain}"))
    await move(charlie, anyone, worker, f"{ids.new()}@example.net")

    assert reason(await send_decision(charlie, planned, owner=alice)) == (403, "person_required", "recent_change")


async def test_another_decider_confirms_a_new_address(
    alice: Person, charlie: Person, anyone: Client, worker: ProfileWorker, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    planned = await plan(alice, alias(f"ada@{domain}"))
    await move(charlie, anyone, worker, f"{ids.new()}@example.net")
    async with alice.browser() as browser:
        await browser.post(confirm_path(charlie))

    assert (await send_decision(charlie, planned, owner=alice)).status_code == 200


async def test_a_new_decider_waits_a_day(alice: Person, charlie: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    planned = await plan(alice, alias(f"ada@{domain}"))
    await join_team(alice, charlie)
    async with alice.browser() as browser:
        await browser.patch(member_path(charlie), json={"approve_plans": True})
    early = await send_decision(charlie, planned, owner=alice)
    clock.move(WAIT - timedelta(hours=1))
    planned = await plan(alice, alias(f"ada@{domain}"))
    clock.move(timedelta(hours=1))
    answer = await send_decision(charlie, planned, owner=alice)

    assert reason(early) == (403, "person_required", "recent_change")
    assert answer.status_code == 200


async def test_who_reads_the_mail_of_a_forwarded_domain_does_not_decide(
    alice: Person, bob: Person, charlie: Person, anyone: Client, worker: ProfileWorker, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    own = unique_domain()
    await assign(alice.service, bob, own)
    await move(charlie, anyone, worker, f"ada@{own}")
    clock.move(WAIT)
    planned = await plan(alice, alias(f"ada@{domain}"))

    assert reason(await send_decision(charlie, planned, owner=alice))[1:] == (
        "person_required",
        "forwarded_address",
    )


async def test_a_program_appoints_nobody(alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie, "owner")
    await set_policy(alice, **ALWAYS)
    async with Client(alice.service, token=(await alice.sign_in()).token) as program:
        given = await program.patch(member_path(charlie), json={"approve_plans": True})
    async with charlie.browser() as browser:
        taken = await browser.patch(member_path(charlie), json={"approve_plans": True}, headers=of(alice))

    assert (code(given), code(taken)) == ((403, "person_required"), (403, "forbidden_role"))


async def test_without_a_policy_again_a_key_changes_the_address(alice: Person) -> None:
    await set_policy(alice, **ALWAYS)
    await set_policy(alice, require="never")

    assert (await alice.patch(ME, json={"email": f"{ids.new()}@example.net"})).status_code == 200
