"""A response that creates something has its path in `Location`; the status is the specification's."""

import pytest

from tests.cast import Person
from tests.contract.document import operations
from tests.published import published

OPERATIONS = operations(published().document)
CREATED = {
    "/v1/account/exports": ({}, 201),
    "/v1/api-keys": ({"label": "x", "key_kind": "test", "preset": "developer_full"}, 200),
    "/v1/builders/projects": ({"name": "x"}, 201),
    "/v1/notifications/webhooks": (
        {"label": "x", "url": "https://93.184.215.14/x", "events": ["*"], "enabled": True},
        200,
    ),
    "/v1/portfolio/domains": ({"domain": "lamp.com"}, 201),
}


def declared() -> set[str]:
    """The paths that declare the header."""
    return {
        name.split()[1]
        for name, operation in OPERATIONS.items()
        if any(
            "Location" in each.get("headers", ())
            for status, each in operation["responses"].items()
            if status < "3"
        )
    }


def test_each_create_declares_it() -> None:
    assert declared() == {*CREATED, "/v1/domains"}


@pytest.mark.parametrize("path", sorted(CREATED))
async def test_what_was_created_is_read_at_its_location(alice: Person, dana: Person, path: str) -> None:
    body, status = CREATED[path]
    person = dana if path.startswith("/v1/portfolio") else alice
    made = await person.post(path, json=body)

    assert made.status_code == status, made.text
    assert (await person.get(made.headers["Location"])).json()["id"] == made.json()["id"]
