"""The mail to a name, by the tools of an agent."""

import pytest

from builders.app import Service
from builders.forwarding import answers
from builders.kit.db.connections import Conn
from builders.webhooks.feed import FeedWaiters
from tests.aliases.make import Json
from tests.cast import Person, replaced
from tests.forwarding.lmtp import HandOver
from tests.forwarding.rules import arrive, set_age
from tests.mcp_server.make import call, connect, refuse

CODE = "Your code is 482913. Open https://author.example/confirm\r\n"


@pytest.fixture
async def message_id(alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn) -> str:
    """Let a message with a code arrive; return its id."""
    assert rule
    await set_age(conn, alice, answers.NEW_FOR)
    return (await arrive(hand_over, alice, name, conn, CODE)).rpartition("/")[2]


async def test_a_code_of_a_mail_is_data(service: Service, name: Json, key: Json, message_id: str) -> None:
    async with connect(service, key["secret"]) as agent:
        (listed,) = (await call(agent, "read_mail", alias_id=name["id"]))["messages"]
        (read,) = (await call(agent, "read_mail", alias_id=name["id"], message_id=message_id))["messages"]
    assert (listed["id"], listed["untrusted_subject"]) == (message_id, "A question")
    assert [each["untrusted_code"] for each in listed["extracted"]["codes"]] == ["482913"]
    assert "482913" in read["untrusted_text"]


async def test_a_wait_needs_the_domain_of_the_sender(service: Service, name: Json, key: Json, rule: Json) -> None:
    assert rule
    async with connect(service, key["secret"]) as agent:
        assert (await refuse(agent, "read_mail", alias_id=name["id"], seconds=1))["code"] == "arguments_invalid"


async def test_a_wait_that_a_drain_ends_is_pending(service: Service, name: Json, key: Json, rule: Json) -> None:
    assert rule
    async with FeedWaiters(service.api.state.database) as closed:
        closed.close()
        with replaced(service, feed_waiters=closed):
            async with connect(service, key["secret"]) as agent:
                waited = await call(agent, "read_mail", alias_id=name["id"], seconds=20, sender="author.example")
    assert waited["pending"]
    assert waited["next_actions"][0]["arguments"]["since"] == waited["since"]


async def test_another_key_reads_no_mail(service: Service, alice: Person, name: Json, message_id: str) -> None:
    async with connect(service, alice.key) as agent:
        refusal = await refuse(agent, "read_mail", alias_id=name["id"], message_id=message_id)
    assert refusal["status"] in {403, 404}


async def test_a_key_without_a_mandate_answers_no_mail(
    service: Service, name: Json, key: Json, message_id: str
) -> None:
    async with connect(service, key["secret"]) as agent:
        refusal = await refuse(agent, "reply_to_mail", alias_id=name["id"], message_id=message_id, text="Thanks")
    assert refusal["code"] == "mandate_exceeded"
