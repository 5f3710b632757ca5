"""The mail to a name, by the tools of an agent."""

from collections.abc import AsyncIterator

import pytest

from builders.app import Service
from builders.forwarding import answers
from builders.kit.db.connections import Conn
from builders.webhooks.feed import FeedWaiters
from tests.aliases.make import Json
from tests.cast import Person, replaced
from tests.forwarding.lmtp import HandOver
from tests.forwarding.rules import arrive, put_rule, set_age
from tests.mandates import machine
from tests.mcp_server.make import Agent, call, connect, refuse
from tests.plans.make import alias, apply, get_alias

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


@pytest.fixture
async def acting(service: Service, alice: Person, shared: str, webhook: Json) -> tuple[Agent, Json]:
    """Return an agent whose mandate and whose rule of a name let it answer, and the name."""
    agent = await machine(alice, toolsets=["mail"])
    name = await get_alias(alice, await apply(alice, alias(f"desk@{shared}", alice.account.email, reply=True)))
    answer = await put_rule(alice, name, webhook, {"id": agent.key_id}, may_reply=True)
    assert answer.status_code == 200, answer.text
    return Agent(service, agent.key), name


@pytest.fixture
async def question(acting: tuple[Agent, Json], alice: Person, hand_over: HandOver, conn: Conn) -> Json:
    """Let a message arrive for an account that is no new one; return the arguments that name it."""
    await set_age(conn, alice, answers.NEW_FOR)
    name = acting[1]
    return {
        "alias_id": name["id"],
        "message_id": (await arrive(hand_over, alice, name, conn)).rpartition("/")[2],
    }


async def count_answers(conn: Conn, alice: Person) -> int:
    query = "SELECT count(*) FROM forwarding_answers WHERE account_id = %s"
    (found,) = await (await conn.execute(query, (alice.account.id,))).fetchone() or (0,)
    return int(found)


async def test_a_mail_is_answered_once_by_a_repeated_call(
    acting: tuple[Agent, Json], question: Json, alice: Person, conn: Conn
) -> None:
    given = [await call(acting[0], "reply_to_mail", **question, text="Thank you.") for _ in range(2)]
    assert [each["status"] for each in given] == ["queued", "queued"]
    assert (given[0]["id"], given[1]["replayed"]) == (given[1]["id"], True)
    assert await count_answers(conn, alice) == 1


FULL = """
    CREATE FUNCTION refuse_for_lack_of_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
    END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON forwarding_answers EXECUTE FUNCTION refuse_for_lack_of_space()
"""


@pytest.fixture
async def full(conn: Conn) -> AsyncIterator[None]:
    """Let the disk be full for answers."""
    await conn.execute(FULL)
    yield
    await conn.execute("DROP FUNCTION IF EXISTS refuse_for_lack_of_space() CASCADE")


@pytest.mark.usefixtures("full")
async def test_an_answer_that_a_full_disk_does_not_store_is_refused_and_sent_by_the_next_call(
    acting: tuple[Agent, Json], question: Json, alice: Person, conn: Conn
) -> None:
    refusal = await refuse(acting[0], "reply_to_mail", **question, text="Thank you.")
    assert refusal["status"] in {500, 503}
    assert "No space" not in str(refusal)
    assert refusal["next_actions"]
    assert await count_answers(conn, alice) == 0
    await conn.execute("DROP FUNCTION refuse_for_lack_of_space() CASCADE")
    given = await call(acting[0], "reply_to_mail", **question, text="Thank you.")
    assert (given["status"], "replayed" in given) == ("queued", False)
    assert await count_answers(conn, alice) == 1
