"""Special-use names are refused as domains and as webhook hosts."""

import pytest

from builders.kit.values.domain_names import SPECIAL_NAMES, is_special_use
from tests.cast import Person
from tests.webhooks.make import PATH, WANTED

REFUSED = [*(f"foo.{name}" for name in SPECIAL_NAMES), "a.b.home.arpa", "api.default.svc"]


@pytest.mark.parametrize("name", REFUSED)
async def test_domains_and_webhooks_with_such_a_name_are_refused(name: str, alice: Person) -> None:
    added = await alice.post("/v1/domains", json={"domain": name.upper()})
    assert added.status_code == 422, added.text
    assert added.json()["detail"][0]["loc"] == ["body", "domain"]
    hooked = await alice.post(PATH, json=WANTED | {"url": f"https://{name}/hook"})
    assert hooked.status_code == 422, hooked.text
    assert hooked.json()["detail"][0]["loc"] == ["body", "url"]


@pytest.mark.parametrize("name", ["ada.example", "corp.example", "mytest", "test.de", "lan.co.uk", "homes"])
def test_other_names_are_not_special(name: str) -> None:
    assert not is_special_use(name)
