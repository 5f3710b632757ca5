"""The signing keys of domains, with the clock moved."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.domains import dkim_keys
from builders.domains.records import DkimKey
from builders.forwarding import jobs, store as forwarding_store
from builders.kit.process.secret_keys import Keyring, Unsealable, generate_secret
from builders.kit.values import clock
from tests.cast import Person
from tests.catalog.make import fresh
from tests.domains.make import PATH, add, check_due, good_records, make_live, settings_of
from tests.domains.nameserver import Fault, Nameserver
from tests.erasure.test_execution import erase

Json = dict[str, Any]
A_DAY = timedelta(days=1, minutes=1)


@pytest.fixture
async def held(alice: Person, dns: Nameserver) -> Json:
    """Return a live domain of Alice without a key."""
    return await make_live(alice, dns, fresh())


async def make(service: Service, domain: str) -> Sequence[DkimKey]:
    """Make a key of a domain; return its keys, the newest first."""
    state = service.api.state
    async with state.database.transaction() as conn:
        await dkim_keys.make(conn, keyring=state.keyring, domains=[domain])
        return await dkim_keys.list_keys(conn, domains=[domain])


async def look(service: Service) -> None:
    """Look for the records of the keys that are due, as the worker does each minute."""
    await dkim_keys.check_due(service.api.state.database, settings=settings_of(service))


async def signer(service: Service, domain: str) -> str | None:
    """Return the selector of the key that signs."""
    state = service.api.state
    async with state.database.connection() as conn:
        found = await dkim_keys.find_signing_key(conn, keyring=state.keyring, domain=domain)
    return None if found is None else found.selector


async def finding(person: Person, domain: Json) -> Json:
    """Return the health of the key."""
    found: Json = (await person.get(f"{PATH}/{domain['id']}")).json()["dns"]["dkim"]
    return found


async def test_a_new_key_is_shown_as_the_record_to_set_and_signs_when_dns_has_it(
    alice: Person, service: Service, dns: Nameserver, held: Json
) -> None:
    (key,) = await make(service, held["domain"])
    clock.move(timedelta(minutes=1))
    await check_due(service)
    shown = await finding(alice, held)
    assert (shown["status"], await signer(service, held["domain"])) == ("missing", None)
    assert shown["next_action"] == f'Set a TXT record at {key.name} with the value "{key.value}".'

    dns.txt(key.name, key.value)
    await look(service)
    clock.move(timedelta(minutes=1))
    await check_due(service)
    shown = await finding(alice, held)
    assert (shown["status"], shown["next_action"]) == ("ok", None)
    assert await signer(service, held["domain"]) == key.selector


async def test_all_four_records_of_a_domain_are_verified(
    alice: Person, service: Service, dns: Nameserver, held: Json
) -> None:
    good_records(dns, held["domain"])
    dns.txt(held["verification"]["name"], held["verification"]["value"])
    (key,) = await make(service, held["domain"])
    dns.txt(key.name, key.value)

    found = (await alice.post(f"{PATH}/{held['id']}/verify")).json()["dns"]

    assert {kind: each["status"] for kind, each in found.items()} == dict.fromkeys(
        ("mx", "spf", "dkim", "dmarc"), "ok"
    )


async def test_another_key_at_the_selector_is_wrong(
    alice: Person, service: Service, dns: Nameserver, held: Json
) -> None:
    (key,) = await make(service, held["domain"])
    dns.txt(key.name, "v=DKIM1; k=rsa; p=QUJD")
    await look(service)

    await alice.post(f"{PATH}/{held['id']}/verify")

    assert (await finding(alice, held))["status"] == "wrong"
    assert await signer(service, held["domain"]) is None


async def test_the_next_key_signs_when_dns_has_it_and_the_earlier_one_is_deleted_a_week_later(
    alice: Person, service: Service, dns: Nameserver, held: Json
) -> None:
    (first,) = await make(service, held["domain"])
    dns.txt(first.name, first.value)
    await look(service)
    clock.move(A_DAY)
    following, _ = await make(service, held["domain"])
    await look(service)
    await alice.post(f"{PATH}/{held['id']}/verify")
    shown = await finding(alice, held)
    assert (shown["status"], following.name in shown["next_action"]) == ("ok", True)
    assert await signer(service, held["domain"]) == first.selector

    dns.txt(following.name, following.value)
    clock.move(A_DAY)
    await look(service)
    assert await signer(service, held["domain"]) == following.selector
    clock.move(timedelta(days=6))
    await look(service)
    assert len(await make(service, held["domain"])) == 3  # with the one of this day
    clock.move(A_DAY)
    await look(service)
    assert first.selector not in {each.selector for each in await make(service, held["domain"])}


async def test_without_a_response_a_key_signs_as_before(service: Service, dns: Nameserver, held: Json) -> None:
    (key,) = await make(service, held["domain"])
    dns.txt(key.name, key.value)
    await look(service)
    dns.faults[key.name] = Fault.SERVFAIL
    clock.move(A_DAY)
    await look(service)

    assert await signer(service, held["domain"]) == key.selector


async def test_a_stranger_with_the_domain_pending_sees_no_key(bob: Person, service: Service, held: Json) -> None:
    await make(service, held["domain"])
    pending = await add(bob, held["domain"])

    found = (await bob.post(f"{PATH}/{pending['id']}/verify")).json()

    assert "_domainkey" not in str(found)


async def test_two_keys_of_a_day_are_one(service: Service, held: Json) -> None:
    first = await make(service, held["domain"])
    assert await make(service, held["domain"]) == first


async def test_a_key_is_rotated_a_year_after_it_was_made_unless_its_next_one_waits(
    service: Service, dns: Nameserver, held: Json
) -> None:
    (key,) = await make(service, held["domain"])
    dns.txt(key.name, key.value)
    await look(service)

    async def is_due() -> bool:
        async with service.api.state.database.connection() as conn:
            due = await forwarding_store.list_rotated_domains(
                conn, before=clock.now() - jobs.ROTATED_AFTER, limit=10_000
            )
        return held["domain"] in due

    assert not await is_due()
    clock.move(timedelta(days=366))
    assert await is_due()
    await make(service, held["domain"])
    assert not await is_due()


async def test_private_keys_are_sealed_again_and_stay_the_same(
    service: Service, dns: Nameserver, held: Json
) -> None:
    database, domain, (new, old) = (
        service.api.state.database,
        held["domain"],
        (generate_secret(), generate_secret()),
    )
    async with database.transaction() as conn:
        await dkim_keys.make(conn, keyring=Keyring([old]), domains=[domain])
        (key,) = await dkim_keys.list_keys(conn, domains=[domain])
    dns.txt(key.name, key.value)
    await look(service)
    async with database.connection() as conn:
        before = await dkim_keys.find_signing_key(conn, keyring=Keyring([old]), domain=domain)
    await dkim_keys.reseal(database, keyring=Keyring([new, old]))
    async with database.connection() as conn:
        assert await dkim_keys.find_signing_key(conn, keyring=Keyring([new]), domain=domain) == before
        with pytest.raises(Unsealable):
            await dkim_keys.find_signing_key(conn, keyring=Keyring([old]), domain=domain)


def test_a_signing_key_shows_no_secret_in_a_log() -> None:
    assert "PRIVATE" not in repr(dkim_keys.SigningKey(selector="b1", pem="PRIVATE"))


async def test_an_erasure_ends_the_keys_and_the_holder(
    alice: Person, bob: Person, service: Service, dns: Nameserver, held: Json
) -> None:
    await make(service, held["domain"])
    await erase(alice)

    async with service.api.state.database.connection() as conn:
        assert await dkim_keys.list_keys(conn, domains=[held["domain"]]) == []
    assert (await make_live(bob, dns, held["domain"]))["status"] == "live"
