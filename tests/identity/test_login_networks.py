"""Codes and tries count for each client network: nobody uses up another person's from elsewhere."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from builders.app import Service
from builders.identity import sessions
from builders.identity.sessions import MAX_NETWORK_TRIES, MAX_TRIES
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox
from tests.identity.test_login import LOGIN, REDEEM, by_code, other

SHORT, DAY = sessions.CODE_LIMITS
TRIES = "SELECT tries FROM identity_sign_ins WHERE address = %s ORDER BY id DESC LIMIT 1"


def at(service: Service, address: str) -> Client:
    """Return an anonymous client with this IP address."""
    client = Client(service)
    client._transport = httpx.ASGITransport(app=service, client=(address, 7))
    return client


async def test_a_network_gets_three_messages_for_an_address_in_15_minutes(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    address = alice.account.email
    answers = [await anyone.post(LOGIN, json={"email": address}) for _ in range(SHORT.one_network + 3)]
    sent = await postbox.all_for(address)
    clock.move(timedelta(minutes=5))
    await anyone.post(LOGIN, json={"email": address})
    later = await postbox.all_for(address)
    clock.move(timedelta(minutes=10))
    last = await postbox.ask(anyone, address)

    assert {(each.status_code, each.text) for each in answers} == {(200, answers[0].text)}
    assert 1 <= len(sent) <= SHORT.one_network
    assert len(later) <= SHORT.one_network
    assert last not in later
    assert (await anyone.post(REDEEM, json=by_code(last))).status_code == 200


async def test_after_the_limit_no_message_is_sent_and_the_newest_code_stays_valid(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    messages = [await postbox.ask(anyone, alice.account.email) for _ in range(SHORT.one_network + 1)]

    assert messages[-1] == messages[-2]
    assert len({message.code for message in messages}) == SHORT.one_network
    assert (await anyone.post(REDEEM, json=by_code(messages[-1]))).status_code == 200


async def test_an_address_gets_twenty_messages_a_day(service: Service, alice: Person, postbox: Postbox) -> None:
    address = alice.account.email
    home = [at(service, f"203.0.113.{n}") for n in (7, 8)]
    await home[0].post(REDEEM, json=by_code(await postbox.ask(home[0], address)))
    for _ in range(9):
        for network in range(10):
            await at(service, f"198.51.{network}.7").post(LOGIN, json={"email": address})
        await home[1].post(LOGIN, json={"email": address})
        await postbox.all_for(address)
        clock.move(timedelta(minutes=16))

    assert len(await postbox.all_for(address)) == DAY.total


async def test_unknown_networks_cannot_block_a_known_one(
    service: Service, alice: Person, postbox: Postbox
) -> None:
    address, home = alice.account.email, at(service, "203.0.113.7")
    await home.post(REDEEM, json=by_code(await postbox.ask(home, address)))
    clock.move(timedelta(days=2))
    for _ in range(9):  # more than a day's messages, from more networks than one
        for network in range(9):
            await at(service, f"198.51.{network}.7").post(LOGIN, json={"email": address})
        await postbox.all_for(address)
        clock.move(timedelta(minutes=16))
    strangers = await postbox.all_for(address)
    mine = await postbox.ask(at(service, "203.0.113.9"), address)

    assert len(strangers) == 1 + DAY.unknown_networks
    assert mine not in strangers
    assert (await home.post(REDEEM, json=by_code(mine))).status_code == 200


async def test_one_network_cannot_use_the_share_of_unknown_networks(
    service: Service, alice: Person, postbox: Postbox
) -> None:
    address, away = alice.account.email, at(service, "203.0.113.7")
    for _ in range(20):
        await at(service, "198.51.100.7").post(LOGIN, json={"email": address})
    theirs = await postbox.all_for(address)
    mine = await postbox.ask(away, address)

    assert mine not in theirs
    assert (await away.post(REDEEM, json=by_code(mine))).status_code == 200


async def test_wrong_codes_of_another_network_leave_the_code_and_the_link_valid(
    service: Service, alice: Person, postbox: Postbox
) -> None:
    home, there = at(service, "203.0.113.7"), at(service, "198.51.100.7")
    for proof in ("code", "link"):
        message = await postbox.ask(home, alice.account.email)
        wrong = {"email": message.to, "code": other(message.code)}
        await asyncio.gather(*(there.post(REDEEM, json=wrong) for _ in range(3 * MAX_NETWORK_TRIES)))

        assert (await there.post(REDEEM, json=by_code(message))).status_code == 400  # their tries are used up
        mine = by_code(message) if proof == "code" else {"token": message.token}
        assert (await home.post(REDEEM, json=mine)).status_code == 200


async def test_all_networks_together_have_fifty_tries_of_a_code(
    service: Service, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    home = at(service, "203.0.113.7")
    message = await postbox.ask(home, alice.account.email)
    wrong = {"email": message.to, "code": other(message.code)}
    crowd = [at(service, f"198.51.{n}.7") for n in range(MAX_TRIES // MAX_NETWORK_TRIES + 2)]
    for _ in range(MAX_NETWORK_TRIES + 1):
        await asyncio.gather(*(each.post(REDEEM, json=wrong) for each in crowd))

    [[tries]] = await (await conn.execute(TRIES, [message.to])).fetchall()
    assert tries == MAX_TRIES
    assert (await home.post(REDEEM, json=by_code(message))).status_code == 400
    assert (await home.post(REDEEM, json={"token": message.token})).status_code == 200


@pytest.mark.parametrize(
    ("one", "other_one"), [("198.51.100.7", "198.51.100.99"), ("::ffff:198.51.100.7", "198.51.100.9")]
)
async def test_addresses_of_one_network_are_one_client(
    service: Service, alice: Person, postbox: Postbox, one: str, other_one: str
) -> None:
    message = await postbox.ask(at(service, one), alice.account.email)
    for _ in range(MAX_NETWORK_TRIES):
        await at(service, one).post(REDEEM, json={"email": message.to, "code": other(message.code)})

    assert (await at(service, other_one).post(REDEEM, json=by_code(message))).status_code == 400
