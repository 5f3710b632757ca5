from collections.abc import Iterator
from io import StringIO
from typing import Any

import psycopg
import pytest

from builders.kit.process import log
from tests import log_lines
from tests.cast import Person
from tests.identity.make import PATH, WANTED, mint

HELD = """
    SELECT key::text FROM identity_keys AS key WHERE account_id = %(account_id)s
    UNION ALL SELECT event::text FROM kit_outbox AS event WHERE account_id = %(account_id)s
    UNION ALL SELECT held::text FROM kit_idempotency AS held WHERE account_id = %(account_id)s
"""


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """All that is logged."""
    lines = StringIO()
    log.configure(level="debug", stream=lines)
    yield lines
    log_lines.write_errors_only()


async def test_the_secret_is_in_one_answer_only(alice: Person) -> None:
    key = await mint(alice)
    path = f"{PATH}/{key['id']}"
    others = [await alice.get(PATH), await alice.get(path), await alice.delete(path), await alice.get(path)]

    assert all(each.status_code == 200 for each in others)
    assert all(key["id"] in each.text for each in others)
    assert not any(key["secret"][-20:] in each.text for each in others)
    assert not any('"secret"' in each.text for each in others)


async def test_the_secret_is_in_no_row(alice: Person, conn: psycopg.AsyncConnection[Any]) -> None:
    answer = await alice.post(PATH, json=WANTED, headers={"Idempotency-Key": "mint-and-look"})
    secret = answer.json()["secret"]

    rows = await (await conn.execute(HELD, {"account_id": alice.account.id})).fetchall()

    text = "\n".join(row[0] for row in rows)
    assert answer.json()["prefix"] in text
    assert "mint-and-look" in text
    assert secret.rpartition("_")[2] not in text


async def test_the_secret_is_in_no_log(alice: Person, logged: StringIO) -> None:
    key = await mint(alice)
    await alice.get(PATH, headers={"X-API-Key": key["secret"][:-1]})
    await alice.get(f"{PATH}/{key['secret']}", headers={"X-API-Key": key["secret"]})

    assert PATH in logged.getvalue()
    assert key["secret"].rpartition("_")[2][:-1] not in logged.getvalue()


async def test_a_repeated_request_gets_the_key_without_its_secret(alice: Person) -> None:
    headers = {"Idempotency-Key": "mint-1"}
    first = await alice.post(PATH, json=WANTED, headers=headers)
    second = await alice.post(PATH, json=WANTED, headers=headers)

    assert second.status_code == 200
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.json() == {name: value for name, value in first.json().items() if name != "secret"}
    ids = [each["id"] for each in (await alice.get(PATH)).json()["items"]]
    assert ids.count(first.json()["id"]) == 1
    assert len(ids) == 3  # with the two she had
