"""Names for special use are no domain of an account, and no webhook is sent there."""

import pytest

from builders.kit.values.special_names import SPECIAL_NAMES, is_special_use
from tests.cast import Person
from tests.webhooks.make import PATH, WANTED

REFUSED = [*(f"foo.{name}" for name in SPECIAL_NAMES), "a.b.home.arpa", "api.default.svc"]


@pytest.mark.parametrize("name", REFUSED)
async def test_neither_a_domain_nor_a_webhook_has_such_a_name(name: str, alice: Person) -> None:
    added = await alice.post("/v1/domains", json={"domain": name.upper()})
    assert added.status_code == 422, added.text
    assert added.json()["detail"][0]["loc"] == ["body", "domain"]
    hooked = await alice.post(PATH, json=WANTED | {"url": f"https://{name}/hook"})
    assert hooked.status_code == 422, hooked.text
    assert hooked.json()["detail"][0]["loc"] == ["body", "url"]


@pytest.mark.parametrize("name", ["ada.example", "corp.example", "mytest", "test.de", "lan.co.uk", "homes"])
def test_others_are_ordinary(name: str) -> None:
    assert not is_special_use(name)
