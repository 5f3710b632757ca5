"""GET /v1/invoices."""

from builders.invoices import service as invoices
from builders.kit.db import Database
from tests.cast import Person
from tests.invoices.make import make_invoice

PATH = "/v1/invoices"


async def test_the_newest_come_first_in_pages(database: Database, alice: Person) -> None:
    made = [(await make_invoice(database, account_id=alice.account.id)).number for _ in range(5)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        answer = await alice.get(PATH, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["items"]) <= 2
        assert "lines" not in page["items"][0]
        found += [each["number"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]


async def test_they_are_filtered_by_status(database: Database, alice: Person) -> None:
    first, second = [await make_invoice(database, account_id=alice.account.id) for _ in range(2)]
    async with database.transaction() as conn:
        await invoices.pay(conn, account_id=alice.account.id, invoice_id=first.id, method="bank", reference="R")
    for status, number in (("paid", first.number), ("open", second.number)):
        items = (await alice.get(PATH, params={"status": status})).json()["items"]
        assert [each["number"] for each in items] == [number]
    (paid,) = (await alice.get(PATH, params={"status": "paid"})).json()["items"]
    assert paid["payment"] == {"method": "bank", "reference": "R"}
    assert (await alice.get(PATH, params={"status": "draft"})).status_code == 422
    assert (await alice.get(PATH, params={"cursor": "nonsense"})).status_code == 422


async def test_strangers_see_none_of_them(database: Database, alice: Person, bob: Person) -> None:
    await make_invoice(database, account_id=alice.account.id)
    assert (await bob.get(PATH)).json()["items"] == []
    assert (await alice.test.get(PATH)).json()["items"] == []


async def test_a_test_key_sees_the_sandboxs(database: Database, alice: Person) -> None:
    made = await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    (shown,) = (await alice.test.get(PATH)).json()["items"]
    assert (shown["number"], shown["livemode"]) == (made.number, False)
    assert (await alice.get(PATH)).json()["items"] == []
