"""GET /v1/invoices."""

from builders.invoices import payments
from builders.invoices.store.invoices import list_by_status, list_newest
from builders.kit.db.connections import Conn, Database
from builders.kit.values import ids
from tests.cast import Person
from tests.invoices.make import make_invoice

PATH = "/v1/invoices"


async def test_invoices_are_paged_newest_first(database: Database, alice: Person) -> None:
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


async def test_invoices_are_filtered_by_status(database: Database, alice: Person) -> None:
    first, second = [await make_invoice(database, account_id=alice.account.id) for _ in range(2)]
    async with database.transaction() as conn:
        await payments.pay(conn, account_id=alice.account.id, invoice_id=first.id, method="bank", reference="R")
    for status, number in (("paid", first.number), ("open", second.number)):
        items = (await alice.get(PATH, params={"status": status})).json()["items"]
        assert [each["number"] for each in items] == [number]
    (paid,) = (await alice.get(PATH, params={"status": "paid"})).json()["items"]
    assert paid["payment"] == {"method": "bank", "reference": "R"}
    refused = await alice.get(PATH, params={"status": "draft"})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["msg"] == "Input should be 'open', 'paid', 'void' or 'uncollectible'"
    assert (await alice.get(PATH, params={"cursor": "nonsense"})).status_code == 422


async def test_other_accounts_do_not_list_the_invoices(database: Database, alice: Person, bob: Person) -> None:
    await make_invoice(database, account_id=alice.account.id)
    assert (await bob.get(PATH)).json()["items"] == []
    assert (await alice.test.get(PATH)).json()["items"] == []


async def test_a_test_key_lists_the_invoices_of_the_sandbox_account(database: Database, alice: Person) -> None:
    made = await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    (shown,) = (await alice.test.get(PATH)).json()["items"]
    assert (shown["number"], shown["livemode"]) == (made.number, False)
    assert (await alice.get(PATH)).json()["items"] == []


MANY = """
    INSERT INTO invoices_invoices (
        account_id, id, number, is_test, status, currency, tax_rate, subtotal, tax_total, total, seller, buyer,
        created_at, issued_at, due_at
    )
    SELECT %s, gen_random_uuid(), 'X-' || at, false, CASE WHEN at %% 500 = 0 THEN 'open' ELSE 'uncollectible' END,
           'USD', 0, 10, 0, 10, '{}', '{}', now(), now(), now()
    FROM generate_series(1, 5000) AS at
"""


async def test_a_page_reads_only_its_rows_from_an_index(conn: Conn, alice: Person) -> None:
    types = {"account_id": "uuid", "before": "uuid", "status": "text", "limit": "bigint"}
    async with conn.transaction(force_rollback=True):
        await conn.execute(MANY, [alice.account.id])
        await conn.execute("ANALYZE invoices_invoices")
        await conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")  # the plan of a prepared statement
        for statement, index, values in (
            (list_newest.text, "invoices_invoices_issued", ["open"]),
            (list_by_status.text, "invoices_invoices_by_status", ["open", "void"]),
        ):
            form = statement
            for at, name in enumerate(types, 1):
                form = form.replace(f"%({name})s", f"${at}")
            await conn.execute(f"PREPARE page ({', '.join(types.values())}) AS {form}".encode())
            for value in values:
                asked = f"EXPLAIN (ANALYZE) EXECUTE page ('{alice.account.id}', '{ids.LAST}', '{value}', 51)"
                plan = "\n".join(row[0] for row in await (await conn.execute(asked.encode())).fetchall())
                assert index in plan
                assert "Removed by Filter" not in plan
                assert "Sort" not in plan
            await conn.execute("DEALLOCATE page")
