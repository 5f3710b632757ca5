"""An operation refuses the parameters of the query that it does not have; only links ignore them."""

import pytest

from builders.kit.callers import APPROVE
from builders.kit.errors import MAX_ERRORS
from tests.cast import Client, Person
from tests.contract.document import operations
from tests.published import published

OPERATIONS = operations(published().document)
QUERIES = {
    name: [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    for name, operation in sorted(OPERATIONS.items())
}
LINKS = {
    *("GET /v1/t/o/{token}", "GET /v1/t/c/{token}", "GET /v1/auth/login", "GET /v1/leads/confirm"),
    "GET /v1/auth/login/callback",
    *("GET /v1/account/email-verification/confirm", "GET /v1/aliases/destinations/confirm"),
    *("GET /v1/mail/unsubscribe/{token}", "POST /v1/mail/unsubscribe/{token}"),
    *("GET /v1/invoices/{invoice_id}", "GET /v1/portfolio/renewals.ics", "GET /v1/portfolio/team/join"),
    "GET /v1/account/erasure/cancel",
}


def asker(name: str, *, alice: Person, dana: Person) -> Person:
    """Who has the scope of the operation."""
    scope = OPERATIONS[name].get("x-scope", "")
    return dana if scope.partition(":")[0] in {"portfolio", "registrars", "transfers", "team"} else alice


def unknown(answer_errors: list[dict[str, object]]) -> list[tuple[object, object]]:
    """The unknown parameters of a 422 with their suggestions."""
    return [
        (each["loc"], each.get("did_you_mean")) for each in answer_errors if each["type"] == "parameter_unknown"
    ]


# No preset has the scope: tests/forwarding/test_receptions.py.
MAIL = {name for name, each in OPERATIONS.items() if each.get("x-scope") == "mail:read"}


@pytest.mark.parametrize("name", sorted(QUERIES.keys() - LINKS - MAIL))
async def test_an_unknown_parameter_is_refused_with_the_closest_known_one(
    alice: Person, dana: Person, name: str
) -> None:
    method, path = name.split()
    known = next((each for each in QUERIES[name] if len(each) > 3), None)
    query = {"qqqqq": "1"} | ({f"{known}x": "1"} if known else {})
    async with alice.browser() as browser:
        is_of_people = OPERATIONS[name].get("x-scope") == APPROVE
        client = browser if is_of_people else asker(name, alice=alice, dana=dana)
        answer = await client.request(method, path.replace("{", "").replace("}", ""), params=query)

    assert answer.status_code == 422
    found = unknown(answer.json()["detail"])
    assert found == [(["query", "qqqqq"], None), *([(["query", f"{known}x"], known)] if known else [])]


@pytest.mark.parametrize("name", sorted(LINKS))
async def test_a_link_ignores_an_unknown_parameter(alice: Person, dana: Person, name: str) -> None:
    method, path = name.split()
    client = asker(name, alice=alice, dana=dana)
    answer = await client.request(method, path.replace("{", "").replace("}", ""), params={"utm_source": "mail"})

    assert "parameter_unknown" not in answer.text


async def test_a_link_with_what_a_mail_service_adds_still_leads_to_its_target(anyone: Client) -> None:
    answer = await anyone.get("/v1/t/o/token?mc_cid=1&utm_source=mail")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/gif")


async def test_a_pages_address_may_have_any_parameter(anyone: Client) -> None:
    answer = await anyone.get("/?utm_source=mail", headers={"Accept": "text/html"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "name", [name for name in QUERIES if name.startswith("GET ") and "portfolio" in QUERIES[name]]
)
async def test_a_parameter_of_one_value_is_sent_once(dana: Person, name: str) -> None:
    path = name.split()[1].replace("{", "").replace("}", "")
    answer = await dana.get(f"{path}?portfolio=a&portfolio=b")

    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["query", "portfolio"], "parameter_repeated")


async def test_a_parameter_with_several_values_may_be_repeated(dana: Person) -> None:
    nothing = "00000000-0000-7000-8000-000000000000"
    answer = await dana.post(f"/v1/portfolio/registrars/billing/charges/apply?ids={nothing}&ids={nothing}")
    assert answer.status_code == 200


async def test_a_refused_write_has_no_effect(alice: Person) -> None:
    answer = await alice.post("/v1/builders/projects?dry_run=true", json={"name": "x"})

    assert (answer.status_code, answer.json()["code"]) == (422, "parameter_unknown")
    assert (await alice.get("/v1/builders/projects")).json()["items"] == []


async def test_a_refusal_names_the_known_parameters(anyone: Client) -> None:
    answer = await anyone.get("/v1/catalog/suggest?q=ada&page=2")
    assert answer.json()["detail"][0]["msg"] == "Unknown query parameter. Known: limit, q."


async def test_only_the_first_of_many_unknown_parameters_are_reported(anyone: Client) -> None:
    answer = await anyone.get("/v1/catalog/categories?" + "&".join(f"p{number}=1" for number in range(500)))
    assert len(answer.json()["detail"]) == MAX_ERRORS
