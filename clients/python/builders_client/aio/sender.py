"""What sends the requests of operations: credentials, options, and repetitions."""

from collections.abc import Mapping
from dataclasses import replace
from types import EllipsisType, TracebackType
from typing import Any, Self, TypeVar, cast

from builders_client import wire
from builders_client.generated.operations import OPERATIONS
from builders_client.retries import Patience, Retries
from builders_client.transport import AsyncTransport, Lost, MakeHttp, Response
from builders_client.values import Upload

R = TypeVar("R")


class AsyncSender:
    """Sends the request of an operation by its id."""

    def __init__(
        self,
        api_key: wire.Key = None,
        *,
        live_key: str | None = None,
        base_url: str | None = None,
        portfolio: str | None = None,
        retries: Retries | None = None,
        http: MakeHttp | None = None,
    ) -> None:
        self._options = wire.options(api_key, live_key, base_url, portfolio, retries)
        self._transport = AsyncTransport(http)

    def with_options(
        self,
        *,
        idempotency_key: str | EllipsisType | None = ...,
        portfolio: str | EllipsisType | None = ...,
        retries: Retries | None = None,
    ) -> Self:
        """Return a client with other options and the same connections.

        What is not given stays; None ends an `idempotency_key` or a `portfolio`.
        """
        other, mine = type(self).__new__(type(self)), self._options
        other._transport = self._transport  # noqa: SLF001 - the same class
        other._options = replace(  # noqa: SLF001 - the same class
            mine,
            idempotency_key=mine.idempotency_key if idempotency_key is ... else idempotency_key,
            portfolio=mine.portfolio if portfolio is ... else portfolio,
            retries=retries or mine.retries,
        )
        return other

    @property
    def retries(self) -> Retries:
        """When requests are repeated."""
        return self._options.retries

    async def send(
        self,
        operation: str,
        reply: type[R],
        *,
        path: Mapping[str, str | int] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: Mapping[str, Any] | Upload | None = None,
    ) -> R:
        """Send the request of an operation by its id, again where that is safe, and return the reply.

        Raise BuildersError.
        """
        what, headers = OPERATIONS[operation], headers or {}
        request = wire.build(what, self._options, path=path or {}, query=query or {}, headers=headers, body=body)
        patience = Patience(self.retries, is_repeatable=wire.is_repeatable(what, headers))
        while True:
            outcome: Response | Lost = await self._transport.send(request, idle=patience.idle, end=patience.end)
            wait = patience.wait_after(outcome)
            if wait is None:
                return cast("R", wire.read(outcome, what, reply))
            await self._transport.sleep(wait)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._transport.sleep(seconds)

    async def aclose(self) -> None:
        """Close the connections; a later request opens new ones."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
