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


@pytest.mark.parametrize("path", QUERIES)
async def test_every_read_names_what_it_ignores(alice: Person, dana: Person, path: str) -> None:
    asking = dana if path.startswith("/v1/portfolio") else alice
    known = QUERIES[path]
    meant = f'"{known[0]}x";did_you_mean="{known[0]}", ' if known and len(known[0]) > 3 else ""
    query = {f"{known[0]}x": "1"} if meant else {}
    answer = await asking.get(path.replace("{", "").replace("}", ""), params={**query, "qqqqq": "1"})

    assert answer.headers[HEADER] == f'{meant}"qqqqq"'


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
