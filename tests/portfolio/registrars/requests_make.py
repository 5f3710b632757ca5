"""A client that records what adapters send, and returns prepared responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from pydantic_core import from_json

from builders.kit.outbound.client import Outbound, Response
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.providers import ADAPTERS
from tests.portfolio.registrars.recorded_make import BASE, NoPace
from tests.registrars.fakes import FAKES


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A request."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.url).query))

    @property
    def json(self) -> Any:
        return None if self.body is None else from_json(self.body)


def answer(body: str | bytes = b"{}", *, status: int = 200, **headers: str) -> Response:
    """A response; `Retry_After` is the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body.encode() if isinstance(body, str) else body
    return Response(status=status, headers=named, body=content, elapsed_ms=1, truncated=False)


class Recorder:
    """Records requests, and returns each response once; the last one again and again."""

    ip = "192.0.2.17"

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers: Sequence[Response | Exception] = answers or (answer(),)
        self.sent: list[Sent] = []

    async def request(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, **_: Any
    ) -> Response:
        found = self.answers[min(len(self.sent), len(self.answers) - 1)]
        self.sent.append(Sent(method=method, url=url, headers=headers, body=body))
        if isinstance(found, Exception):
            raise found
        return found


def adapter_of(provider: str, recorder: Recorder, **credentials: str) -> Adapter:
    """An adapter with the credentials of the fake, and others."""
    api = ApiClient(outbound=cast(Outbound, recorder), pace=NoPace(), base_url=BASE)
    return ADAPTERS[provider](api, credentials={**FAKES[provider].credentials, **credentials})
