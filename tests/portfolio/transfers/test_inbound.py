"""Transfers to a registrar that does not hold the domain yet."""

from builders.demo.registrars.fake import FakeServer, FakeTransfer
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.transfers.make import DAY, add_held, report


async def test_a_transfer_to_name_com_is_seen(alice: Person, fakes: FakeServer, reach: Outbound) -> None:
    del reach  # requests reach the fake
    account = await add_held(alice, fakes, "namecom")
    account.domains.clear()
    started = clock.now() - DAY
    account.transfers = [FakeTransfer(domain="harbour.com", direction="in", state="pending", started_at=started)]
    found = await report(alice)
    assert (found["state"], found["direction"], found["provider"]) == ("pending_in", "in", "namecom")
