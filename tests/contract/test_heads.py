"""HEAD answers what GET does, without the body, wherever GET changes nothing."""

import pytest

from tests.cast import Person
from tests.contract.document import operations
from tests.published import published

READ = sorted(name.split()[1] for name in operations(published().document) if name.startswith("GET "))
# What these links do is done by a GET alone.
CHANGING = {
    "/v1/leads/confirm",
    "/v1/account/email-verification/confirm",
    "/v1/aliases/destinations/confirm",
}
VARYING = {"date", "x-request-id", "content-length"}


@pytest.mark.parametrize("path", READ)
async def test_head_answers_as_get_without_a_body(alice: Person, path: str) -> None:
    address = path.replace("{", "").replace("}", "")
    head = await alice.head(address)
    if path in CHANGING:
        assert head.status_code == 405
        assert "HEAD" not in head.headers["Allow"]
        return
    get = await alice.get(address)

    assert head.status_code == get.status_code
    assert head.content == b""
    assert {name for name in head.headers if name not in VARYING} == {
        name for name in get.headers if name not in VARYING
    }
    if get.status_code < 300 and "content-length" in get.headers:
        assert int(head.headers["content-length"]) > 0


async def test_allow_names_head_where_there_is_one(alice: Person) -> None:
    assert (await alice.patch("/v1/aliases", json={})).headers["Allow"] == "GET, HEAD"
    assert (await alice.patch("/v1/leads/confirm", json={})).headers["Allow"] == "GET"
