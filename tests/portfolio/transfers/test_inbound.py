"""Transfers to a registrar that does not hold the domain yet."""

import pytest

from builders.demo.registrars.fake import FakeAccount, FakeServer, FakeTransfer, Fault
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.billing.make import add_domains
from tests.portfolio.registrars.make import connect
from tests.portfolio.transfers.make import DAY, HOUR, add_held, report
from tests.registrars.fakes import FAKES


async def test_a_transfer_to_name_com_is_seen(alice: Person, fakes: FakeServer, reach: Outbound) -> None:
    del reach  # requests reach the fake
    account = await add_held(alice, fakes, "namecom")
    account.domains.clear()
    started = clock.now() - DAY
    account.transfers = [FakeTransfer(domain="harbour.com", direction="in", state="pending", started_at=started)]
    found = await report(alice)
    assert (found["state"], found["direction"], found["provider"]) == ("pending_in", "in", "namecom")


async def connect_gaining(owner: Person, fakes: FakeServer, *transfers: FakeTransfer) -> FakeAccount:
    """Connect Name.com, which does not hold the domain."""
    fake = FAKES["namecom"](FakeAccount(transfers=list(transfers)))
    await connect(owner, fake, fakes)
    return fake.account


def inbound(state: str = "pending", domain: str = "harbour.com") -> FakeTransfer:
    return FakeTransfer(domain=domain, direction="in", state=state, started_at=clock.now() - DAY)


@pytest.mark.parametrize("losing", ["godaddy", "gandi"])
async def test_a_transfer_to_name_com_is_seen_while_the_domain_is_at_the_losing_registrar(
    alice: Person, fakes: FakeServer, reach: Outbound, losing: str
) -> None:
    del reach
    held = await add_held(alice, fakes, losing)
    if losing == "gandi":
        held.domains[0].state = "leaving"
    account = await connect_gaining(alice, fakes, inbound())
    found = await report(alice)
    assert (found["state"], found["direction"], found["provider"]) == ("pending_in", "in", "namecom")
    assert found["expected"] is True
    assert (found["losing_registrar"], found["gaining_registrar"]) == (
        {"godaddy": "GoDaddy", "gandi": "Gandi"}[losing],
        "Name.com",
    )
    requests = account.requests
    assert (await report(alice))["state"] == found["state"]
    assert account.requests == requests  # it answered a short time ago
    clock.move(HOUR)
    account.transfers = [inbound("completed")]
    assert (await report(alice))["state"] == "completed"


async def test_a_transfer_to_name_com_is_seen_where_the_losing_registrar_is_not_connected(
    alice: Person, fakes: FakeServer, reach: Outbound
) -> None:
    del reach
    await add_domains(alice, "harbour.com", registrar="GoDaddy")
    await connect_gaining(alice, fakes, inbound())
    found = await report(alice)
    assert (found["state"], found["provider"]) == ("pending_in", "namecom")


@pytest.mark.parametrize("state", ["completed", "cancelled"])
async def test_an_earlier_transfer_to_name_com_is_history(
    alice: Person, fakes: FakeServer, reach: Outbound, state: str
) -> None:
    del reach
    await add_domains(alice, "harbour.com", registrar="GoDaddy")
    await connect_gaining(alice, fakes, inbound(state), inbound(domain="other.com"))
    found = await report(alice)
    assert (found["state"] in {"none", "eligible"}, found["direction"]) == (True, None)


async def test_a_gaining_registrar_that_fails_leaves_the_state(
    alice: Person, fakes: FakeServer, reach: Outbound
) -> None:
    del reach
    await add_held(alice, fakes, "gandi")
    before = await report(alice)
    account = await connect_gaining(alice, fakes)
    account.faults += [Fault.SERVER_ERROR] * 9
    assert (await report(alice, refresh=True))["state"] == before["state"]
