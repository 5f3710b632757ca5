"""A plan and a simulation count the resources of the manifest."""

import pytest

from tests.cast import Person
from tests.plans.make import PLAN, alias, make_addresses, manifest


@pytest.mark.parametrize("path", [PLAN, "/v1/sandbox/simulate"])
async def test_a_large_manifest_uses_more_of_the_quota(path: str, ada: Person) -> None:
    wanted = manifest(
        [alias(each) for each in make_addresses(600, "unknown.example")]
    )  # 3 of the 6 units of a tenth of 60
    body = wanted if path == PLAN else {"type": "manifest", "manifest": wanted}
    answers = [await ada.test.post(path, json=body) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert answers[2].json()["code"] == "rate_limited"
    assert int(answers[2].headers["Retry-After"]) > 0
