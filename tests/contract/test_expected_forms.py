"""A value of a common wrong form gets a message with the expected form."""

import re
from typing import Any

import pytest

from builders.kit.values import ids
from tests.cast import Person
from tests.contract.document import operations
from tests.published import published

OPERATIONS = operations(published().document)
PATCHES = sorted(name.split()[1] for name in OPERATIONS if name.startswith("PATCH "))
JSON_PATCH = [{"op": "replace", "path": "/name", "value": "x"}]
CONSENT = {"plan_id": "01990000-0000-7000-8000-000000000000", "digest": "x"}
KEY = {"label": "x", "key_kind": "test", "preset": "developer_full"}


async def message(person: Person, path: str, body: Any, method: str = "POST") -> str:
    """The message of the only error."""
    answer = await person.request(method, path, json=body)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["detail"]
    return str(error["msg"])


@pytest.mark.parametrize("path", PATCHES)
async def test_a_json_patch_is_refused_with_the_form_of_a_patch(alice: Person, dana: Person, path: str) -> None:
    person = dana if path.startswith("/v1/portfolio") else alice
    said = await message(person, re.sub(r"{\w+}", str(ids.new()), path), JSON_PATCH, "PATCH")
    assert "JSON Merge Patch, RFC 7396" in said


@pytest.mark.parametrize("sent", ["12/31/2027", "31.12.2027", "tomorrow", "2027-12-31", "2027-12-31T00:00:00"])
async def test_a_time_in_another_form_is_refused_with_an_example(alice: Person, sent: str) -> None:
    said = await message(alice, "/v1/api-keys", {**KEY, "expires_at": sent})
    assert "2027-12-31T23:59:59Z" in said


@pytest.mark.parametrize("sent", ["12/31/2027", "31.12.2027", "yesterday", 17.5])
async def test_a_date_in_another_form_is_refused_with_an_example(dana: Person, sent: object) -> None:
    said = await message(dana, "/v1/portfolio/domains", {"domain": "lamp.example", "registered_on": sent})
    assert "2027-12-31" in said


@pytest.mark.parametrize("sent", [50, "50", 50.5, ["50", "USD"]])
async def test_an_amount_without_its_currency_is_refused_with_an_example(alice: Person, sent: object) -> None:
    said = await message(alice, "/v1/sandbox/promote", {**CONSENT, "max_total": sent})
    assert '{"amount": "12.34", "currency": "USD"}' in said


@pytest.mark.parametrize("sent", [[1], "x", 7])
async def test_a_body_that_is_no_object_is_refused_in_words_of_json(alice: Person, sent: object) -> None:
    assert await message(alice, "/v1/builders/projects", sent) == "Input should be a JSON object."


@pytest.mark.parametrize("sent", ["usd", "US$", "dollars"])
async def test_a_currency_in_another_form_is_refused_with_an_example(dana: Person, sent: str) -> None:
    said = await message(dana, "/v1/portfolio/domains", {"domain": "lamp.com", "currency": sent})
    assert said == "Input should be a currency code in capital letters, such as USD."


async def test_a_flag_in_another_form_is_refused_with_its_values(dana: Person) -> None:
    said = await message(dana, "/v1/portfolio/domains", {"domain": "lamp.com", "auto_renew": "maybe"})
    assert said == "Input should be true or false."


async def test_text_that_is_no_json_is_refused_with_the_character_to_correct(alice: Person) -> None:
    json_type = {"Content-Type": "application/json"}
    answer = await alice.post("/v1/builders/projects", content=b'{"name" 1}', headers=json_type)
    assert "Correct the JSON of the body at character 8 as" in answer.json()["next_action"]
