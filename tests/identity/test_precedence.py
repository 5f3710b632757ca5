"""With several credentials the first in the order decides: key, bearer, cookie. Here every combination."""

from itertools import product

import pytest

from tests.cast import Client, Person

GOOD, BAD, NONE = "good", "bad", "-"
CASES = [case for case in product((NONE, GOOD, BAD), repeat=3) if case != (NONE, NONE, NONE)]
METHODS = ("api_key", "jwt", "cookie")
BROKEN = {
    "api_key": "svc_live_nothing",
    "jwt": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.",
    "cookie": "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.",
}


@pytest.mark.parametrize("case", CASES, ids=" ".join)
async def test_the_first_that_is_present_decides(alice: Person, anyone: Client, case: tuple[str, ...]) -> None:
    bearer, cookie = [(await alice.sign_in()).token for _ in range(2)]
    offered = dict(zip(METHODS, (alice.key, bearer, cookie), strict=True))
    sent = {
        method: offered[method] if state == GOOD else BROKEN[method]
        for method, state in zip(METHODS, case, strict=True)
        if state != NONE
    }
    headers = {
        **({"X-API-Key": sent["api_key"]} if "api_key" in sent else {}),
        **({"Authorization": f"Bearer {sent['jwt']}"} if "jwt" in sent else {}),
        **({"Cookie": f"svc_access_token={sent['cookie']}"} if "cookie" in sent else {}),
    }

    answer = await anyone.get("/v1/auth/session", headers=headers)

    first = next(iter(sent))
    if sent[first] == BROKEN[first]:
        assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")
    else:
        assert answer.json()["method"] == first
