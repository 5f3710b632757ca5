"""What the maps answer for each state of a name, asked as a mail server does."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from builders.aliases.records import SeparatorPolicy
from builders.aliases.rules import key
from builders.app import Service
from builders.forwarding import maps
from builders.forwarding.recipients import find_address
from builders.invoices.records import GRACE, UNCOLLECTIBLE_AFTER
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.aliases.make import ALIASES, CONFIRM, PROGRAM, AliasWorker, Owner, fresh, fresh_address
from tests.cast import Client, Person
from tests.domains.make import PATH, assign
from tests.forwarding.conftest import OPERATOR
from tests.forwarding.make import set_catch_all, tell
from tests.forwarding.postfix import MailServer
from tests.invoices.make import pass_by
from tests.plans.make import Domains, alias, apply, get_alias, suspend_aliases

ACCEPTED, REFUSED, DELAYED = f"OK {maps.ACCEPT}", f"OK {maps.REFUSE}", f"OK {maps.DELAY}"
LOCAL_PARTS = st.from_regex(r"[a-z0-9]([._-]?[a-z0-9]){0,20}", fullmatch=True)


async def ask_both(lookups: MailServer, address: str) -> tuple[str, str]:
    """Return the replies of the maps that a recipient passes."""
    return await lookups.ask("recipient", address), await lookups.ask("alias", address)


async def test_a_claim_is_live_when_its_promotion_has_ended(
    alice: Person, shared: str, lookups: MailServer
) -> None:
    address = f"ada@{shared}"
    assert await ask_both(lookups, address) == (REFUSED, maps.NOT_FOUND)
    await apply(alice, alias(address, alice.account.email))
    assert await ask_both(lookups, address) == (ACCEPTED, f"OK {alice.account.email}")
    assert await lookups.ask("domain", shared) == f"OK {shared}"


async def test_unknown_suspended_disabled_and_expired_names_get_one_answer(
    alice: Person, shared: str, lookups: MailServer, conn: Conn, database: Database, worker: AliasWorker
) -> None:
    own = alice.account.email
    names = [f"{each}@{shared}" for each in ("off", "stopped", "expired")]
    await apply(alice, alias(names[0], own, enabled=False), alias(names[1], own), alias(names[2], own))
    await suspend_aliases(conn, alice, names[1])
    for passed in (timedelta(days=14) + GRACE + timedelta(minutes=1), UNCOLLECTIBLE_AFTER - GRACE):
        assert await lookups.ask("recipient", names[2]) in {ACCEPTED, REFUSED}
        await pass_by(database, passed)
        await worker.work()
    replies = {await ask_both(lookups, each) for each in (*names, f"nobody@{shared}", f"o'neil@{shared}")}
    assert replies == {(REFUSED, maps.NOT_FOUND)}


async def test_mail_waits_a_day_for_the_confirmation(
    alice: Person, anyone: Client, shared: str, lookups: MailServer, worker: AliasWorker
) -> None:
    address, other = f"ada@{shared}", fresh_address()
    await apply(alice, alias(address, other))
    token = await worker.token(other)
    clock.move(timedelta(hours=23))
    assert await ask_both(lookups, address) == (DELAYED, maps.TRY_LATER)
    clock.move(timedelta(hours=2))
    assert await ask_both(lookups, address) == (REFUSED, maps.NOT_FOUND)
    await anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM)
    assert await ask_both(lookups, address) == (ACCEPTED, f"OK {other}")


async def test_only_confirmed_destinations_are_in_the_reply_in_their_sequence(
    alice: Person, anyone: Client, shared: str, lookups: MailServer, worker: AliasWorker
) -> None:
    address, own = f"ada@{shared}", alice.account.email
    first, never = fresh_address(), fresh_address()
    await apply(alice, alias(address, first, never, own))
    assert await lookups.ask("alias", address) == f"OK {own}"
    await anyone.get(CONFIRM, params={"token": await worker.token(first)}, headers=PROGRAM)
    assert await lookups.ask("alias", address) == f"OK {first}, {own}"


async def test_mail_waits_three_days_for_a_paused_destination(
    alice: Person, shared: str, lookups: MailServer, conn: Conn, database: Database
) -> None:
    address = f"ada@{shared}"
    await apply(alice, alias(address, alice.account.email))
    await conn.execute(
        "UPDATE aliases_destinations SET paused_at = %s WHERE account_id = %s", [clock.now(), alice.account.id]
    )
    await tell(database)
    clock.move(timedelta(days=3, minutes=-1))
    assert await ask_both(lookups, address) == (DELAYED, maps.TRY_LATER)
    clock.move(timedelta(minutes=2))
    assert await ask_both(lookups, address) == (REFUSED, maps.NOT_FOUND)


async def test_mail_to_a_paused_name_waits_three_days_and_is_accepted_when_the_pause_ends(
    alice: Person, shared: str, lookups: MailServer
) -> None:
    address, until = f"ada@{shared}", (clock.now() + timedelta(days=5)).isoformat()
    claimed = await get_alias(alice, await apply(alice, alias(address, alice.account.email)))
    await alice.patch(f"{ALIASES}/{claimed['id']}", json={"pause_until": until})
    clock.move(timedelta(days=3, minutes=-1))
    await alice.patch(f"{ALIASES}/{claimed['id']}", json={"note": "away"})  # does not start the pause again
    assert await ask_both(lookups, address) == (DELAYED, maps.TRY_LATER)
    clock.move(timedelta(minutes=2))
    assert await ask_both(lookups, address) == (REFUSED, maps.NOT_FOUND)
    clock.move(timedelta(days=2))
    assert await ask_both(lookups, address) == (ACCEPTED, f"OK {alice.account.email}")


async def test_a_released_name_receives_nothing(alice: Person, shared: str, lookups: MailServer) -> None:
    address = f"ada@{shared}"
    claimed = await get_alias(alice, await apply(alice, alias(address, alice.account.email)))
    await alice.delete(f"{ALIASES}/{claimed['id']}")
    assert await ask_both(lookups, address) == (REFUSED, maps.NOT_FOUND)


async def test_names_of_sandboxes_are_unknown(
    alice: Person, database: Database, shared: str, lookups: MailServer
) -> None:
    await Owner.of_sandbox(database, alice).claim_one("ada", shared, fresh_address())
    assert await ask_both(lookups, f"ada@{shared}") == (REFUSED, maps.NOT_FOUND)


async def test_a_foreign_domain_is_not_the_business_of_the_service(lookups: MailServer) -> None:
    for name in maps.MAPS:
        assert await lookups.ask(name, f"ada@{fresh()}") == maps.NOT_FOUND


async def test_a_domain_is_found_in_unicode_and_punycode(
    database: Database, alice: Person, lookups: MailServer, domains: Domains
) -> None:
    label = f"bücher-{fresh()}"
    await domains(label)
    ascii_label = (await lookups.ask("domain", label)).removeprefix("OK ")
    await Owner.of(database, alice).claim_one("ada", ascii_label, alice.account.email)
    written = (
        f"ada@{label}",
        f"ADA+shop@{label.upper()}",
        f"a.d.a@{ascii_label.upper()}",
        f"\uff21da@{ascii_label}",
    )
    assert {await lookups.ask("alias", each) for each in written} == {f"OK {alice.account.email}"}


@pytest.mark.parametrize("policy", SeparatorPolicy)
async def test_each_spelling_of_a_name_has_its_answer(
    alice: Person, lookups: MailServer, domains: Domains, policy: SeparatorPolicy
) -> None:
    domain = await domains(separator_policy=policy)
    await apply(alice, alias(f"jane.doe-x@{domain}", alice.account.email, key="jane"))
    spellings = ("jane.doe-x", "JaneDoe-X", "jane_doe.x", "janedoex", "jane.doe-x+tag+more", "jane.doe")
    for each in spellings:
        is_same = key(each.lower().partition("+")[0], policy) == key("jane.doe-x", policy)
        assert (await lookups.ask("recipient", f"{each}@{domain}") == ACCEPTED) is is_same, each


@given(LOCAL_PARTS, st.sampled_from(SeparatorPolicy), st.text("abcXYZ019+-=", max_size=9), st.data())
def test_capitals_and_tags_never_change_the_name(
    name: str, policy: SeparatorPolicy, tag: str, data: st.DataObject
) -> None:
    written = "".join(data.draw(st.sampled_from([each, each.upper()])) for each in name)
    found = find_address(f"{written}+{tag}@Harbour.Example")
    assert found is not None
    assert (found.domain, key(found.name, policy)) == ("harbour.example", key(name, policy))


async def test_a_catch_all_receives_other_names_after_its_recipient_confirmed(
    alice: Person, anyone: Client, service: Service, lookups: MailServer, worker: AliasWorker, domain: str
) -> None:
    other = fresh_address()
    await set_catch_all(alice, service, domain, other)
    assert await ask_both(lookups, f"any.thing@{domain}") == (DELAYED, maps.TRY_LATER)
    token = await worker.token(other)
    await anyone.get(CONFIRM, params={"token": token}, headers=PROGRAM)
    assert await ask_both(lookups, f"o'neil=x@{domain}") == (ACCEPTED, f"OK {other}")
    assert await lookups.ask("alias", f"postmaster@{domain}") == f"OK {OPERATOR}"


async def test_a_catch_all_receives_no_mail_of_names_with_an_owner(
    alice: Person, bob: Person, service: Service, database: Database, lookups: MailServer, domain: str, conn: Conn
) -> None:
    theirs, mine = Owner.of(database, bob), Owner.of(database, alice)
    await theirs.claim_one("theirs", domain, bob.account.email)
    await theirs.release(*(await theirs.aliases()).values())
    await mine.claim_one("stopped", domain, alice.account.email)
    await mine.claim_one("mine", domain, fresh_address())
    await set_catch_all(alice, service, domain, alice.account.email)
    await suspend_aliases(conn, alice, f"stopped@{domain}")
    replies = [
        await lookups.ask("recipient", f"{each}@{domain}") for each in ("theirs", "stopped", "mine", "else")
    ]
    assert replies == [REFUSED, REFUSED, DELAYED, ACCEPTED]


async def test_a_catch_all_leads_to_no_name_of_the_service(
    alice: Person, bob: Person, service: Service, conn: Conn, database: Database, lookups: MailServer, domain: str
) -> None:
    other = fresh()
    await set_catch_all(alice, service, domain, f"ada@{other}")
    await conn.execute(
        "UPDATE aliases_destinations SET verified_at = %s WHERE account_id = %s", [clock.now(), alice.account.id]
    )
    await tell(database)
    assert await lookups.ask("alias", f"x@{domain}") == f"OK ada@{other}"
    held = await assign(service, bob, other)
    assert await lookups.ask("alias", f"x@{domain}") == maps.NOT_FOUND
    members = {"catch_all": True, "default_destination": f"x@{domain}"}
    refused = await bob.patch(f"{PATH}/{held.id}", json=members)
    assert (refused.status_code, refused.json()["code"]) == (422, "destination_loop")


async def test_a_catch_all_ends_with_its_setting(
    alice: Person, service: Service, lookups: MailServer, domain: str
) -> None:
    await set_catch_all(alice, service, domain, alice.account.email)
    held = (await alice.get(PATH)).json()["items"][0]
    await alice.patch(f"{PATH}/{held['id']}", json={"catch_all": False})
    assert await ask_both(lookups, f"any@{domain}") == (REFUSED, maps.NOT_FOUND)
    await alice.delete(f"{PATH}/{held['id']}")
    assert await lookups.ask("domain", domain) == maps.NOT_FOUND


async def test_mail_to_the_operators_of_a_domain_goes_to_the_operator(shared: str, lookups: MailServer) -> None:
    for name in ("postmaster", "Abuse", "abuse+x"):
        assert await ask_both(lookups, f"{name}@{shared}") == (ACCEPTED, f"OK {OPERATOR}")


async def test_a_sender_on_a_domain_of_the_catalog_has_a_name(
    alice: Person, bob: Person, service: Service, shared: str, domain: str, lookups: MailServer
) -> None:
    await apply(alice, alias(f"ada@{shared}", alice.account.email))
    await assign(service, bob, domain)
    asked = (f"ada@{shared}", f"forged@{shared}", f"news@{domain}", "")
    replies = [await lookups.ask("sender", each) for each in asked]
    assert replies == [maps.NOT_FOUND, f"OK {maps.REFUSE_SENDER}", maps.NOT_FOUND, maps.NOT_FOUND]


async def test_look_ups_at_once_share_statements_and_get_their_own_answers(
    alice: Person, database: Database, shared: str, lookups: MailServer
) -> None:
    owner = Owner.of(database, alice)
    await owner.claim_one("ada", shared, alice.account.email)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_ask_alone(lookups, f"{n % 2 * 'ada' or n}@{shared}")) for n in range(80)]
    assert [each.result() for each in asked] == [REFUSED, ACCEPTED] * 40


async def _ask_alone(lookups: MailServer, address: str) -> str:
    async with MailServer(lookups.path) as alone:
        return await alone.ask("recipient", address)
