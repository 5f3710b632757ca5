"""The state that a client sends back: for one credential, one tool and these arguments, for ten minutes.

No tool of the service asks the client anything, so no state leads to a change. The server of the conformance
suite, from the same factory, has tools that ask.
"""

import base64
import json
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from builders.app import Service
from builders.mcp_server.endpoint import IN_CALL
from builders.mcp_server.transport import PURPOSE, STATE_TTL_S
from tests.cast import Person
from tests.mcp_server.make import URL, VERSION, message, post
from tests.mcp_server.system.fixture import Fixture

TOOL, OTHER = "test_input_required_result_request_state", "test_input_required_result_multi_round"
ANSWERS = {"confirm": {"action": "accept", "content": {"ok": True}}}
ARGUMENTS = {"amount": "1.00"}
CAPABILITIES: dict[str, Any] = {"elicitation": {}}


class Asking(Fixture):
    """The server, whose messages come from a key."""

    key_id = "one"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to the key."""
        exchange = SimpleNamespace(caller=SimpleNamespace(account_id="account", key_id=self.key_id))
        await self.transport.app({**scope, IN_CALL: exchange}, receive, send)

    async def ask(self, key_id: str, tool: str, arguments: object, **more: object) -> Any:
        """Return the result or the error of a call."""
        self.key_id = key_id
        body = message("tools/call", name=tool, arguments=arguments, **more)
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = CAPABILITIES
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=self)) as client:
            answer = (await client.post(URL, json=body, headers=headers)).json()
        return answer.get("result") or answer["error"]

    async def begin(self) -> str:
        """Return the state of a tool that asked."""
        asked = await self.ask("one", TOOL, ARGUMENTS)
        assert asked["resultType"] == "input_required", asked
        return str(asked["requestState"])

    async def answer(
        self, state: str, key_id: str = "one", tool: str = TOOL, arguments: object = ARGUMENTS
    ) -> Any:
        """Return what follows when the state is sent back."""
        return await self.ask(key_id, tool, arguments, requestState=state, inputResponses=ANSWERS)

    def shift(self, state: str, seconds: float) -> str:
        """Return a state that was sealed earlier."""
        claims = json.loads(self.keyring.unseal(PURPOSE, base64.urlsafe_b64decode(state), context=b""))
        claims |= {"iat": claims["iat"] - seconds, "exp": claims["exp"] - seconds}
        sealed = self.keyring.seal(PURPOSE, json.dumps(claims).encode(), context=b"")
        return base64.urlsafe_b64encode(sealed).decode()


def is_refused(answer: Any) -> bool:
    return bool(answer.get("code") == -32602 and answer["message"] == "Invalid or expired requestState")


async def test_the_same_call_continues() -> None:
    asking = Asking("http://builders.test")
    async with asking.transport:
        continued = await asking.answer(await asking.begin())
    assert "state-ok" in continued["content"][0]["text"]


@pytest.mark.parametrize(
    "changed", [{"key_id": "two"}, {"tool": OTHER}, {"arguments": {"amount": "2.00"}}, {"arguments": {}}]
)
async def test_another_key_tool_or_argument_does_not(changed: dict[str, Any]) -> None:
    asking = Asking("http://builders.test")
    async with asking.transport:
        assert is_refused(await asking.answer(await asking.begin(), **changed))


@pytest.mark.parametrize(("seconds", "expected"), [(STATE_TTL_S - 60, False), (STATE_TTL_S + 1, True)])
async def test_a_state_ends_after_ten_minutes(seconds: float, *, expected: bool) -> None:
    asking = Asking("http://builders.test")
    async with asking.transport:
        answer = await asking.answer(asking.shift(await asking.begin(), seconds))
    assert (STATE_TTL_S, is_refused(answer)) == (600, expected)


async def test_a_changed_state_is_refused() -> None:
    asking = Asking("http://builders.test")
    async with asking.transport:
        state = await asking.begin()
        assert is_refused(await asking.answer(("A" if state[0] != "A" else "B") + state[1:]))


async def test_a_state_of_another_service_is_refused() -> None:
    """It has keys of its own."""
    asking, other = Asking("http://builders.test"), Asking("http://builders.test")
    async with asking.transport, other.transport:
        assert is_refused(await other.answer(await asking.begin()))


@pytest.mark.parametrize("tool", ["promote_plan", "reply_to_mail", "repeat", "import_table", "write_operation"])
async def test_no_state_leads_to_a_change(service: Service, alice: Person, tool: str) -> None:
    asking = Asking("http://builders.test")
    async with asking.transport:
        state = await asking.begin()
    body = message("tools/call", name=tool, arguments={}, requestState=state, inputResponses=ANSWERS)
    answer = await post(service, body, X_API_Key=alice.key)
    assert is_refused(answer.json()["error"])
