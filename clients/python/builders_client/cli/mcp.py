"""`bld mcp`: copy the messages of an agent on this computer (MCP over stdio) to the service."""

import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import typer

from builders_client.cli import profiles
from builders_client.cli.faults import SIGN_IN, USAGE, Fault
from builders_client.cli.state import State, read_json, state_of
from builders_client.problems import ApiError

if TYPE_CHECKING:  # slow to import
    from builders_client import Builders

ANSWER_S, IDLE_S = 60.0, 50.0  # a tool waits up to 20 s
MOST_AT_ONCE = 8
_VERSION = "io.modelcontextprotocol/protocolVersion"
_FAILED, _NOT_JSON = -32603, -32700  # JSON-RPC 2.0, 5.1
_OK = 200


def copy_messages(ctx: typer.Context) -> None:
    """Give an agent on this computer the tools of the service; it starts this command as a server over stdio.

    It uses a key with a mandate and refuses any other.
    """
    state = state_of(ctx)
    key = _find_key(state)
    from builders_client import Builders

    with Builders(key, base_url=state.address(), http=state.http) as client:
        has_mandate = _has_mandate(state, client)
    if not has_mandate:
        raise Fault(
            "The key has no mandate: it could do whatever its scopes allow.",
            next_action="Let a person give one: bld login --agent, or mint a key with a mandate in the console.",
            code=USAGE,
        )
    relay = Relay(state, key)
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        for line in sys.stdin:
            if line.strip():
                pool.submit(relay.pass_on, line)


def _has_mandate(state: State, client: "Builders") -> bool:
    try:
        session = read_json(state.send("auth_get_session", client=client))
    except ApiError as error:
        if error.code == "mandate_exceeded":  # one that does not let it read the session
            return True
        raise
    return session.get("mandate") is not None


def _find_key(state: State) -> str:
    stored = state.stored()
    mine = stored is not None and profiles.same_service(stored["url"], state.address())
    keys = profiles.usable(stored["keys"], test=state.test) if stored is not None and mine else ()
    key = profiles.environment_key() or next(filter(None, map(profiles.secret, keys)), None)
    if key is None:
        raise Fault(
            "There is no key.", next_action="Sign in: bld login --agent, or set BUILDERS_API_KEY.", code=SIGN_IN
        )
    return key


class Relay:
    """Sends messages, and writes the answers as lines."""

    def __init__(self, state: State, key: str) -> None:
        address = urlsplit(state.address())
        self._url = f"{address.scheme}://{address.netloc}{address.path.rstrip('/').removesuffix('/v1')}/mcp"
        self._key = key
        from builders_client.transport import Transport

        self._transport = Transport(state.http)
        self._writing = Lock()
        self._agreed: str | None = None  # the version of a client that says it once

    def pass_on(self, line: str) -> None:
        """Send one message; write its answer, or the error of a request without one."""
        try:
            message = json.loads(line)
        except ValueError:
            self._write(_error(None, _NOT_JSON, "The line is not JSON."))
            return
        answer = self._send(message, line.encode())
        if answer is not None:
            self._write(answer)

    def _send(self, message: Any, content: bytes) -> Mapping[str, Any] | None:
        from builders_client.transport import Lost, Request

        asked: Mapping[str, Any] = message if isinstance(message, dict) else {}
        request = Request("POST", self._url, self._headers(asked), content)
        response = self._transport.send(request, idle=IDLE_S, end=time.monotonic() + ANSWER_S)
        if isinstance(response, Lost):
            return _error(asked.get("id"), _FAILED, response.reason)
        try:
            found = json.loads(response.content) if response.content else {}
        except ValueError:
            found = {}
        if "jsonrpc" not in found:  # a notification has no answer; another status is not of the protocol
            detail = found.get("detail") or f"The service answered {response.status}."
            return _error(asked["id"], _FAILED, str(detail)) if "id" in asked else None
        if asked.get("method") == "initialize" and response.status == _OK:
            self._agreed = found.get("result", {}).get("protocolVersion")
        return dict(found)

    def _headers(self, asked: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the headers, which say the same as the message."""
        parameters = asked.get("params") or {}
        version = (parameters.get("_meta") or {}).get(_VERSION)
        headers = {
            "X-API-Key": self._key,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if version is not None:
            headers["Mcp-Method"] = str(asked.get("method"))
            name = parameters.get("name", parameters.get("uri"))
            headers |= {} if name is None else {"Mcp-Name": str(name)}
        spoken = version or self._agreed
        return headers | ({} if spoken is None else {"MCP-Protocol-Version": str(spoken)})

    def _write(self, answer: Mapping[str, Any]) -> None:
        with self._writing:
            sys.stdout.write(json.dumps(answer, separators=(",", ":")) + "\n")
            sys.stdout.flush()


def _error(request_id: object, code: int, message: str) -> Mapping[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
