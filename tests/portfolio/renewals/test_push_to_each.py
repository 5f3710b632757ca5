"""Auto-renew is set through a decision at each registrar whose API has a switch."""

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.portfolio.registrars.providers import ADAPTERS
from tests.cast import Person
from tests.portfolio.renewals.test_push import fakes, held_at, outbound, push, settings, states
from tests.registrars.fakes import FAKES

__all__ = ["fakes", "outbound"]
SWITCHES = [name for name, each in ADAPTERS.items() if each.profile.capabilities.set_auto_renew]
pytestmark = pytest.mark.usefixtures("outbound")


@pytest.mark.parametrize("provider", SWITCHES)
async def test_a_decision_sets_auto_renew_at_the_registrar(
    alice: Person, fakes: FakeServer, provider: str
) -> None:
    fake = await held_at(alice, fakes, FAKES[provider], "drop.com", "renew.com")
    items = [{"domain_id": "drop.com", "decision": "drop"}, {"domain_id": "renew.com", "decision": "renew"}]
    assert states(await push(alice, *items)) == ["pushed", "unchanged"]
    assert settings(fake) == {"drop.com": False, "renew.com": True}
