"""Any change of a registrar's documented answer is read or is a failure of the registrar, in a bounded time."""

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from builders.portfolio.billing.lines import is_storable
from builders.portfolio.registrars import listings
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.providers import ADAPTERS
from tests.changes import changed_text
from tests.loop_time import loop_time
from tests.portfolio.registrars.recorded_make import RECORDED, SINCE, UNTIL, Replay, adapter_of
from tests.random_cases import cases

MOST_S = 2.0  # of processor time, for all lists of a registrar
MOST_ROWS = 10_000


@pytest.mark.fuzzer
@pytest.mark.parametrize("provider", ADAPTERS)
@cases(10)
@given(data=st.data())
async def test_a_changed_reply_is_read_or_a_failure_of_the_registrar(provider: str, data: st.DataObject) -> None:
    recorded = tomllib.loads((RECORDED / f"{provider}.toml").read_text())
    responses = dict(recorded["responses"])
    for name in data.draw(st.lists(st.sampled_from(sorted(responses)), min_size=1, max_size=2, unique=True)):
        responses[name] = data.draw(changed_text(responses[name]))
    replay = Replay(responses, ends=recorded.get("ends"), headers=recorded.get("headers"))
    adapter = adapter_of(provider, replay)
    with loop_time() as loop, suppress(RegistrarFailed):  # and nothing else
        rows = [held async for page in adapter.list_domains() for held in page]
        stored = [listings.row_of(each) for each in listings.clean(rows).values()]
        assert len(stored) < MOST_ROWS
        assert "\0" not in str(stored)
        if adapter.profile.capabilities.billing:
            lines = [line async for page in adapter.list_charges(since=SINCE, until=UNTIL) for line in page]
            assert {is_storable(each) for each in lines} <= {True, False}
    assert loop.seconds < MOST_S


async def test_domains_are_listed_although_a_price_is_no_money() -> None:
    recorded = tomllib.loads((RECORDED / "dynadot.toml").read_text())
    path = "/restful/v2/domains/get_tld_price"
    changed = recorded["responses"][path].replace('"USD"', '",USD"')
    replay = Replay({**recorded["responses"], path: changed}, ends=recorded.get("ends"))
    rows = [held async for page in adapter_of("dynadot", replay).list_domains() for held in page]
    assert rows
    assert changed != recorded["responses"][path]
