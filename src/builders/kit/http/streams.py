"""Responses that are computed while the client reads them, on the second event loop.

A stream is a heavy request of its account until it ends: at its last part, when the client disconnects, or after
five minutes. The server also disconnects a client that leaves data unread for a minute (cli/protocol.py).
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from uuid import UUID

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from builders.kit.db.connections import Database, database
from builders.kit.http.deadline import Deadlines, unless_disconnected
from builders.kit.http.heavy_requests import HeavyLoop, run_on_main_loop

_deadlines = Deadlines()


class HeavyStream(StreamingResponse):
    """A response whose parts `write` yields from the database of the second loop.

    `write` holds no connection while it yields, because the client may read slowly. A response that has begun
    ends early, without its last chunk, at an error. Sending it raises HeavyRequestRunning.
    """

    def __init__(
        self,
        write: Callable[[Database], AsyncGenerator[str]],
        *,
        account_id: UUID,
        media_type: str,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__((), media_type=media_type, headers=headers)
        self._write = write
        self._account_id = account_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        request = Request(scope, receive)
        loop: HeavyLoop = request.app.state.heavy
        work = loop.run(request, partial(self._run, request, send), alone=self._account_id)
        await _deadlines.run(unless_disconnected(request, work), timeout_s=loop.stream_timeout_s)

    async def _run(self, request: Request, send: Send) -> None:
        async def send_from_main_loop(message: Message) -> None:
            await run_on_main_loop(request, partial(send, message))

        async with aclosing(self._write(database(request))) as self.body_iterator:
            await self.stream_response(send_from_main_loop)
