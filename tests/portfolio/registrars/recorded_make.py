"""Recorded responses of registrars' documents, a client that returns them, and the rows that they stand for.

`recorded/` has the responses, with the page of each: its members, in its types. Where a page shows a placeholder
in place of a value, and for every name of a domain, the value is ours. `ends` is the response behind the last
page, `headers` are those of every response.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

from builders.kit.outbound.client import Outbound, Response
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import BilledLine, ChargeKind, HeldStatus, RegistrarDomain
from tests.registrars.fakes import FAKES

RECORDED = Path(__file__).parent / "recorded"
BASE = "https://registrar.example"
T = TypeVar("T")
SINCE, UNTIL = date(2026, 3, 1), date(2026, 3, 31)


class Replay:
    """Answers each request with the recorded response of its path, its `Command`, or its X-Amz-Target.

    It answers others with 404.

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
        self.asked = set[str]()  # names of responses
        self.requests = 0

    async def request(self, _: str, url: str, *, headers: Mapping[str, str], **__: Any) -> Response:
        self.requests += 1
        operation = headers.get("X-Amz-Target", "").rpartition(".")[2]
        path, _, query = url.partition("?")
        command = dict(parse_qsl(query)).get("Command", "")
        name = operation or (command if command in self._responses else urlsplit(path).path)
        responses = self._ends if name in self.asked and name in self._ends else self._responses
        self.asked.add(name)
        try:
            body = responses[name].encode()
        except KeyError:
            return Response(status=404, headers={}, body=b"{}", elapsed_ms=1, truncated=False)
        return Response(status=200, headers=self._headers, body=body, elapsed_ms=1, truncated=False)


class NoPace:
    async def acquire(self) -> None:
        return


def adapter_of(provider: str, replay: Replay) -> Adapter:
    credentials = {**FAKES[provider].credentials, "account_id": "recorded"}
    api = ApiClient(outbound=cast(Outbound, replay), pace=NoPace(), base_url=BASE)
    return ADAPTERS[provider](api, credentials=credentials)


async def until_failure(pages: AsyncIterator[Sequence[T]]) -> tuple[list[T], RegistrarFailed]:
    """Read a list up to the failure that ends it."""
    rows = list[T]()
    try:
        async for page in pages:
            rows += page
    except RegistrarFailed as failed:
        return rows, failed
    raise AssertionError("the list is complete")


# Words of the rows.
ON = {"auto_renew": True, "locked": True, "privacy": True}
OFF = {"auto_renew": False, "locked": False, "privacy": False}
ACTIVE, EXPIRED = HeldStatus.ACTIVE, HeldStatus.EXPIRED
NS = ["ns1.example.com", "ns2.example.com"]
LEAP, END = "2020-02-29 12:00:00", "2027-02-28 12:00:00"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What the examples of a registrar stand for."""

    held: Sequence[RegistrarDomain]
    detail: RegistrarDomain | None = None  # None: the API has no request for one domain
    charges: Sequence[BilledLine] = field(default_factory=tuple)  # none: the API has no bills


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def held(domain: str, created: str | None, expires: str | None, **more: Any) -> RegistrarDomain:
    return RegistrarDomain(
        domain=domain,
        created_at=None if created is None else at(created),
        expires_at=None if expires is None else at(expires),
        **more,
    )


def charge(order_id: str, line_id: str, on: str, total: str, *domains: str, **more: Any) -> BilledLine:
    values: dict[str, Any] = {"currency": "USD", "kind": ChargeKind.RENEWAL, "description": ""}
    return BilledLine(
        order_id=order_id,
        line_id=line_id,
        charged_on=date.fromisoformat(on),
        total=Decimal(total),
        domains=domains,
        **(values | more),
    )
