"""Limits on request bodies: one for each body, and a budget for all bodies in the memory of the process.

The budget counts received bytes until the handler has ended. When it is exhausted, the body that has been arriving
longest is refused, so that slow clients do not block others.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from builders.kit.errors import BodyTooLarge, Problem
from builders.kit.marks import Mark

BODY_BUDGET = "builders.bodies"  # key of the ASGI scope: the BodyBudget
PUBLIC_BODY_LIMIT = 16 * 1024  # of a body to an operation without credentials and without a specific limit
RETRY_AFTER_S = 2


class Busy(Problem):
    """The service is too busy."""

    status, code = 503, "busy"
    remedy = "Repeat the request after the seconds of Retry-After; a POST with the same Idempotency-Key."


@dataclass(frozen=True, slots=True)
class BodyLimit(Mark):
    """Marks an operation with its own limit on the body; one that `exceeds` may be above that of the service."""

    size: int  # bytes
    exceeds: bool


def body_limit(size: int, *, exceeds: bool = False) -> Any:  # Depends has no public type
    """Return an item for `dependencies` that limits the body to `size` bytes."""
    return Depends(BodyLimit(size, exceeds))


class BodyBudget:
    """Counts the bytes of all request bodies in memory."""

    def __init__(self, *, limit: int, total: int) -> None:
        self.limit = limit  # of a body whose operation has no specific limit
        self.held = 0
        self._total = total
        self.arriving: dict[LimitedRequest, None] = {}  # bodies that are still arriving, the oldest first

    def take(self, request: "LimitedRequest", size: int) -> None:
        """Count bytes of a body. Raise Busy when no other body can be refused instead."""
        self.held += size
        request.held += size
        while self.held > self._total:
            longest = next(iter(self.arriving), request)
            if longest is request:
                raise busy()
            self.give_back(longest)
            longest.refuse()

    def give_back(self, request: "LimitedRequest") -> None:
        """Return the bytes of a body to the budget."""
        self.arriving.pop(request, None)
        self.held -= request.held
        request.held = 0


class LimitedRequest(Request):
    """A request whose body is limited, and counted by the budget until the handler has ended."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        limit: int | None = None,  # bytes; None for that of the service
        exceeds: bool = False,  # whether the limit counts even if it is above that of the service
    ) -> None:
        super().__init__(scope, receive, send)
        self._budget: BodyBudget | None = scope.get(BODY_BUDGET)
        self._limit, self._exceeds = limit, exceeds
        self._task: asyncio.Task[Any] | None = None  # that waits for more of the body
        self._is_refused = False
        self.held = 0  # bytes of the budget

    __hash__ = object.__hash__  # a request is one of the budget's; Starlette's is a mapping
    __eq__ = object.__eq__

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the parts of the body, once; `body` joins and keeps them.

        Raise ClientDisconnect, BodyTooLarge, and Busy when the process holds too many bytes.
        """
        limit, budget, size, more = self._find_limit(), self._budget, 0, True
        try:
            while more:
                message = await self.receive()
                if message["type"] != "http.request":
                    raise ClientDisconnect
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                if limit is not None and size > limit:
                    raise too_large(limit)
                if budget is not None:
                    if more and self._task is None:
                        self._task = asyncio.current_task()
                        budget.arriving[self] = None
                    budget.take(self, len(part))
                yield part
        except asyncio.CancelledError:
            if not self._is_refused or self._task is None:
                raise
            self._task.uncancel()
            raise busy() from None
        finally:
            if budget is not None and self._task is not None:
                budget.arriving.pop(self, None)  # a complete body is no longer refused

    def refuse(self) -> None:
        """Stop the wait for the rest of the body: `body` raises Busy."""
        self._is_refused = True
        if self._task is not None:
            self._task.cancel()

    def release(self) -> None:
        """Give the bytes of the body back to the budget."""
        if self._budget is not None and self.held:
            self._budget.give_back(self)

    def _find_limit(self) -> int | None:
        """Return the limit in bytes. Raise BodyTooLarge when the length that the client announces is above it."""
        limit = self._limit
        if self._budget is not None and not self._exceeds:
            limit = self._budget.limit if limit is None else min(limit, self._budget.limit)
        announced = dict[bytes, bytes](self.scope["headers"]).get(b"content-length", b"0")
        if limit is not None and int(announced) > limit:  # a number: kit/http/middleware.py has checked it
            raise too_large(limit)
        return limit


def busy() -> Busy:
    """Return the refusal of a body that the process cannot hold."""
    return Busy("The service is receiving too many request bodies; repeat the request.", retry_after=RETRY_AFTER_S)


def too_large(limit: int) -> BodyTooLarge:
    """Return the refusal of a body over the limit (bytes)."""
    return BodyTooLarge(f"The request body is larger than {limit} bytes.")
