"""Each adapter reads the examples of its registrar's public documentation as the rows that they stand for.

`recorded/` has the responses, with the page of each: its members, in its types. Where a page shows a placeholder
in place of a value, and for every name of a domain, the value is ours. `ends` is the response behind the last
page, `headers` are those of every response.
"""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from builders.demo.registrars.fakes import FAKES
from builders.kit.outbound.client import Outbound, Response
from builders.portfolio.registrars import listing_changes
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.providers import ADAPTERS
from tests.portfolio.registrars.recorded_rows import EXPECTED

RECORDED = Path(__file__).parent / "recorded"
BASE = "https://registrar.example"
SINCE, UNTIL = date(2026, 3, 1), date(2026, 3, 31)


class Replay:
    """Answers each request with the recorded response of its path, or of its X-Amz-Target.

    A request for what follows gets the response of an empty list, where `ends` has one for the path.
    """

    def __init__(
        self,
        responses: Mapping[str, str],
        *,
        ends: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._responses = responses
        self._ends = dict(ends or {})
        self._headers = headers or {}
        self._asked = set[str]()
        self.requests = 0

    async def request(self, _: str, url: str, *, headers: Mapping[str, str], **__: Any) -> Response:
        self.requests += 1
        operation = headers.get("X-Amz-Target", "").rpartition(".")[2]
        name = operation or urlsplit(url).path
        responses = self._ends if name in self._asked and name in self._ends else self._responses
        self._asked.add(name)
        body = responses[name].encode()
        return Response(status=200, headers=self._headers, body=body, elapsed_ms=1, truncated=False)


class NoPace:
    async def acquire(self) -> None:
        return


def adapter_of(provider: str, replay: Replay) -> Adapter:
    credentials = {**FAKES[provider].credentials, "account_id": "recorded"}
    api = ApiClient(outbound=cast(Outbound, replay), pace=NoPace(), base_url=BASE)
    return ADAPTERS[provider](api, credentials=credentials)


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_the_documented_examples_are_read_as_rows(provider: str) -> None:
    recorded, expected = tomllib.loads((RECORDED / f"{provider}.toml").read_text()), EXPECTED[provider]
    assert recorded["page"].startswith("https://")
    replay = Replay(recorded["responses"], ends=recorded.get("ends"), headers=recorded.get("headers"))
    adapter = adapter_of(provider, replay)
    listed = [row for page in [page async for page in adapter.list_domains()] for row in page]
    assert [listing_changes.cleaned(each) for each in listed] == expected.held
    if adapter.reads_one_domain():
        name = expected.held[0].domain
        assert listing_changes.cleaned(await adapter.get_domain(name)) == expected.detail
    assert (expected.detail is not None) == adapter.reads_one_domain()
    assert bool(expected.charges) == adapter.profile.capabilities.billing
    if expected.charges:
        pages = [page async for page in adapter.list_charges(since=SINCE, until=UNTIL)]
        assert [line for page in pages for line in page] == expected.charges
