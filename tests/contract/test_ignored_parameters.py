"""A parameter of the query that an operation does not have is named in `Ignored-Parameters`."""

import re
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from builders.kit.http.parameters import MAX_IGNORED
from tests.cast import Client, Person
from tests.contract.document import operations
from tests.published import published

HEADER = "Ignored-Parameters"
ITEM = re.compile(r'"[\x20\x21\x23-\x5b\x5d-\x7e]*"(;did_you_mean="[a-z_]+")?')
OPERATIONS = operations(published().document)
QUERIES = {
    name.split()[1]: [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    for name, operation in sorted(OPERATIONS.items())
    if name.startswith("GET ")
}


STRICT = [path for path in QUERIES if path.startswith("/v1/portfolio") and not path.endswith(".ics")]


@pytest.mark.parametrize("path", sorted(QUERIES.keys() - STRICT))
async def test_every_read_names_what_it_ignores(alice: Person, path: str) -> None:
    known = QUERIES[path]
    meant = f'"{known[0]}x";did_you_mean="{known[0]}", ' if known and len(known[0]) > 3 else ""
    query = {f"{known[0]}x": "1"} if meant else {}
    answer = await alice.get(path.replace("{", "").replace("}", ""), params={**query, "qqqqq": "1"})

    assert answer.headers[HEADER] == f'{meant}"qqqqq"'


@pytest.mark.parametrize("path", STRICT)
async def test_every_read_of_a_portfolio_refuses_what_it_does_not_know(dana: Person, path: str) -> None:
    answer = await dana.get(path.replace("{", "").replace("}", ""), params={"portfolios": "1", "qqqqq": "1"})

    assert answer.status_code == 422
    assert [(each["loc"], each["type"], each.get("did_you_mean")) for each in answer.json()["detail"]] == [
        (["query", "portfolios"], "parameter_unknown", "portfolio" if "portfolio" in QUERIES[path] else None),
        (["query", "qqqqq"], "parameter_unknown", None),
    ]
    assert HEADER not in answer.headers


@pytest.mark.parametrize("path", [path for path in STRICT if "portfolio" in QUERIES[path]])
async def test_every_read_of_a_portfolio_refuses_a_repeated_parameter(dana: Person, path: str) -> None:
    answer = await dana.get(path.replace("{", "").replace("}", "") + "?portfolio=a&portfolio=b")

    assert answer.status_code == 422
    assert [(each["loc"], each["type"]) for each in answer.json()["detail"]] == [
        (["query", "portfolio"], "parameter_repeated")
    ]


async def test_a_write_of_a_portfolio_refuses_what_it_does_not_know(dana: Person) -> None:
    answer = await dana.post("/v1/portfolio/domains?folder=x", json={"domain": "harbour.com"})
    assert (answer.status_code, answer.json()["code"]) == (422, "parameter_unknown")


async def test_a_parameter_with_several_values_may_be_repeated(dana: Person) -> None:
    nothing = "00000000-0000-7000-8000-000000000000"
    answer = await dana.post(f"/v1/portfolio/registrars/billing/charges/apply?ids={nothing}&ids={nothing}")
    assert answer.status_code == 200


@pytest.mark.parametrize("path", QUERIES)
async def test_what_is_known_is_not_named(alice: Person, path: str) -> None:
    query = dict.fromkeys(QUERIES[path], "1")
    answer = await alice.get(path.replace("{", "").replace("}", ""), params=query)
    assert HEADER not in answer.headers


async def test_a_write_names_what_it_ignores(alice: Person) -> None:
    answer = await alice.post("/v1/builders/projects?colour=red", json={"name": "x"})
    assert (answer.status_code, answer.headers[HEADER]) == (201, '"colour"')


async def test_a_refusal_names_it_too(anyone: Client) -> None:
    answer = await anyone.get("/v1/catalog/check?localpart=ada&domain=harbour.example")
    assert (answer.status_code, answer.headers[HEADER]) == (422, '"localpart";did_you_mean="local_part"')


async def test_no_more_than_some_are_named(anyone: Client) -> None:
    answer = await anyone.get("/v1/catalog/categories?" + "&".join(f"p{number}=1" for number in range(500)))
    assert answer.headers[HEADER].count(", ") == MAX_IGNORED - 1


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
async def test_any_name_is_a_header_that_can_be_sent(anyone: Client, name: str) -> None:
    url = httpx.URL("http://builders.test/v1/catalog/categories?" + quote(name, safe=""))
    answer = await anyone.get(url)
    assert ITEM.fullmatch(answer.headers[HEADER]), answer.headers[HEADER]


def test_each_operation_declares_the_header() -> None:
    for name, operation in OPERATIONS.items():
        found = [
            each for status, each in operation["responses"].items() if status.startswith("2") or status == "422"
        ]
        assert found, name
        assert all(HEADER in each["headers"] for each in found), name
