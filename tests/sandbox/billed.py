"""What the account was billed, for the tests of claims, releases and re-claims."""

from datetime import timedelta

from builders.invoices import service as invoices
from builders.invoices.records import Invoice
from builders.kit.db.connections import Database
from tests.cast import Person
from tests.sandbox.make import Json

COOLED_OFF = timedelta(hours=25)
YEAR = timedelta(days=366)


async def issued(database: Database, person: Person) -> list[Invoice]:
    """The account's invoices with their lines, oldest first."""
    async with database.connection() as conn:
        found = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=100)
        return [
            await invoices.get_invoice(conn, account_id=person.account.id, invoice_id=each.id)
            for each in reversed(found)
        ]


async def pay(database: Database, person: Person, invoice: Invoice) -> None:
    async with database.transaction() as conn:
        await invoices.pay(
            conn, account_id=person.account.id, invoice_id=invoice.id, method="transfer", reference="1"
        )


async def shown(person: Person, promotion: Json) -> Json:
    """The name that the promotion's only step made."""
    (step,) = promotion["steps"]
    answer = await person.get(f"/v1/aliases/{step['resource_id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found
