"""PDFs of invoices have a separate limit, because they cost much more than other forms."""

from collections import Counter

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.values import ids
from tests.cast import Person
from tests.invoices.make import make_invoice

PDF = {"Accept": "application/pdf"}


async def path_of(person: Person, service: Service) -> str:
    """Return the path of an invoice of the person."""
    database: Database = service.api.state.database
    invoice = await make_invoice(database, account_id=person.account.id)
    return f"/v1/invoices/{invoice.id}"


async def test_pdfs_have_a_separate_quota_in_both_forms(limited: Service, ada: Person, eve: Person) -> None:
    path, hers = await path_of(ada, limited), await path_of(eve, limited)
    answers = [
        await ada.get(path, headers=PDF),
        await ada.get(f"{path}/pdf"),
        await ada.get(path, headers=PDF),
        await ada.get(path, headers=PDF),
        await ada.get(f"{path}/pdf"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    for refused in answers[3:]:
        assert refused.json()["violated_policies"] == ["invoice_pdf"]
        assert 1 <= int(refused.headers["Retry-After"]) <= 600
    for answer in answers:
        assert answer.headers["RateLimit-Policy"].startswith(
            '"invoice_pdf";q=3;w=600, "invoice";q=12;w=60, "key";'
        )
        assert answer.headers["RateLimit"].startswith('"invoice_pdf";r=')
    assert (await eve.get(f"{hers}/pdf")).status_code == 200


async def test_other_forms_are_not_counted_as_pdfs(limited: Service, ada: Person) -> None:
    path = await path_of(ada, limited)
    accepted = ["application/json", "text/html", "application/json;q=1, application/pdf;q=0.5", "*/*"] * 2
    found = Counter([(await ada.get(path, headers={"Accept": each})).status_code for each in accepted])
    assert found == {200: 8}
    last = await ada.get(path, headers=PDF)
    assert (last.status_code, last.headers["RateLimit"].split(";")[1]) == (200, "r=2")


async def test_all_keys_and_unknown_invoices_share_the_quota(limited: Service, ada: Person) -> None:
    path = await path_of(ada, limited)
    for client, each in ((ada.test, path), (ada, f"/v1/invoices/{ids.new()}"), (ada, path)):
        assert (await client.get(each, headers=PDF)).status_code == (
            200 if each == path and client is ada else 404
        )
    assert (await ada.test.get(f"{path}/pdf")).status_code == 429
