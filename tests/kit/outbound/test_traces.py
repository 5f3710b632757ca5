"""The trace of an incoming request is passed on in outgoing ones."""

import pytest
from starlette.types import Receive, Scope, Send
from structlog.contextvars import get_contextvars

from builders.kit.http.middleware import RequestMiddleware
from tests.kit.asgi import ask

GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def _application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the trace that the request is part of."""
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": get_contextvars().get("traceparent", "").encode()})


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param(GOOD, GOOD, id="well-formed"),
        pytest.param(None, "", id="no header"),
        pytest.param("", "", id="empty"),
        pytest.param(GOOD.upper(), "", id="capitals"),
        pytest.param(GOOD.replace("00-", "ff-"), "", id="the forbidden version"),
        pytest.param(GOOD + "-more", "", id="a member more"),
        pytest.param(GOOD[:-1], "", id="a digit less"),
        pytest.param(GOOD + "\r\nX-A: b", "", id="a line break"),
        pytest.param("00-" + "0" * 32 + "-b7ad6b7169203331-01", "", id="a trace of zeros"),
        pytest.param("00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01", "", id="a parent of zeros"),
    ],
)
async def test_a_well_formed_trace_is_kept_for_the_request(sent: str | None, kept: str) -> None:
    middleware = RequestMiddleware(_application, body_limit=1024, log_requests=False)
    headers = [] if sent is None else [("traceparent", sent)]
    assert (await ask(middleware, "GET", "/", headers=headers)).body == kept.encode()
    assert (await ask(middleware, "GET", "/")).body == b""  # and for this one alone
