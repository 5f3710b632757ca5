"""A destination that refused mail is paused until its recipient confirms again."""

from datetime import timedelta

from builders.aliases import confirmations
from builders.app import Service
from builders.forwarding import export
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.aliases.make import (
    ALIASES,
    CONFIRM,
    DESTINATIONS,
    PROGRAM,
    RESEND,
    AliasWorker,
    Owner,
    destinations,
    fresh_address,
    published,
    spec,
    verified,
    wait_for_horizon,
)
from tests.cast import Client, Person


async def pause(service: Service, owner: Owner, email: str) -> None:
    """Pause a destination of an owner."""
    state = service.api.state
    async with state.database.transaction() as conn:
        await confirmations.pause_destinations(
            conn, keyring=state.keyring, account_id=owner.account_id, emails=[email]
        )


async def confirm(anyone: Client, worker: AliasWorker, email: str) -> None:
    """Follow the newest link that an address received."""
    answer = await anyone.get(CONFIRM, params={"token": (await worker.tokens(email))[-1]}, headers=PROGRAM)
    assert answer.json()["status"] == "confirmed", answer.text


async def test_a_paused_destination_receives_no_mail_and_its_account_learns_it(
    alice: Person, owner: Owner, service: Service, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    email = alice.account.email
    alias_id = await owner.claim_one("ada", domain, email)
    await pause(service, owner, email.upper())
    shown = (await destinations(alice))[email]
    assert (shown["verified"], shown["paused_at"] is None, shown["verified_at"] is None) == (False, False, False)
    (on_alias,) = (await alice.get(f"{ALIASES}/{alias_id}")).json()["destinations"]
    assert on_alias == {"email": email, "verified": False}
    await pause(service, owner, email)
    ((_, data),) = await published(conn, owner.account_id, "alias.bounced")
    assert (data["aliases"], email in str(data)) == (1, False)
    assert [each["Subject"] for each in await worker.list_emails(email)].count(
        f"No mail is forwarded to {email}"
    ) == 1


async def test_its_recipient_confirms_again_and_mail_servers_learn_both(
    alice: Person,
    anyone: Client,
    owner: Owner,
    service: Service,
    worker: AliasWorker,
    database: Database,
    domain: str,
) -> None:
    email = fresh_address()
    await owner.claim_one("ada", domain, email)
    await confirm(anyone, worker, email)

    async def changed() -> list[object]:
        await wait_for_horizon(database)
        async with database.connection() as conn:
            horizon = await export.get_horizon(conn, since=since)
        found = export.list_map_changes(database, since=since, horizon=horizon)
        return [list(each.destinations) async for each in found if each.domain == domain]

    since = 0
    assert await changed() == [[email]]
    await pause(service, owner, email)
    assert await changed() == [[]]
    clock.move(timedelta(minutes=16))
    resent = (await alice.post(RESEND, json={"email": email})).json()
    assert (resent["sent"], resent["verified"]) == (True, False)
    await confirm(anyone, worker, email)
    assert await changed() == [[email]]
    assert await verified(alice, email)
    assert (await destinations(alice))[email]["paused_at"] is None


async def test_another_spelling_of_a_paused_destination_has_to_be_confirmed(
    alice: Person, owner: Owner, service: Service, domain: str
) -> None:
    email = alice.account.email
    await owner.claim_one("ada", domain, email)
    await pause(service, owner, email)
    await owner.claim_one("bea", domain, email.replace("alice", "Alice"))
    assert not await verified(alice, email.replace("alice", "Alice"))


async def test_the_destinations_of_another_account_keep_their_mail(
    alice: Person, bob: Person, owner: Owner, service: Service, database: Database, domain: str
) -> None:
    other = Owner.of(database, bob)
    await other.claim(spec("bob", domain, bob.account.email))
    await pause(service, owner, bob.account.email)
    assert await verified(bob, bob.account.email)
    assert (await alice.get(DESTINATIONS)).json()["items"] == []
