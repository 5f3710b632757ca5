"""Of several credentials the first in the order decides: key, bearer token, cookie."""

import pytest

from tests.cast import Client, Person

INVALID_KEY = "svc_live_nothing"
INVALID_TOKEN = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0."


@pytest.fixture
async def credentials(alice: Person) -> dict[str, dict[str, str]]:
    """Return a header of each kind, valid and invalid."""
    return {
        "key": {"X-API-Key": alice.key},
        "invalid key": {"X-API-Key": INVALID_KEY},
        "token": {"Authorization": f"Bearer {(await alice.sign_in()).token}"},
        "invalid token": {"Authorization": f"Bearer {INVALID_TOKEN}"},
        "cookie": {"Cookie": f"svc_access_token={(await alice.sign_in()).token}"},
        "invalid cookie": {"Cookie": f"svc_access_token={INVALID_TOKEN}"},
    }


@pytest.mark.parametrize(
    ("sent", "method"),
    [
        pytest.param(["key"], "api_key", id="a key alone"),
        pytest.param(["token"], "jwt", id="a token alone"),
        pytest.param(["cookie"], "cookie", id="a cookie alone"),
        pytest.param(["key", "token"], "api_key", id="a key before a token"),
        pytest.param(["key", "cookie"], "api_key", id="a key before a cookie"),
        pytest.param(["token", "cookie"], "jwt", id="a token before a cookie"),
        pytest.param(["key", "token", "cookie"], "api_key", id="a key before both"),
        pytest.param(["key", "invalid token"], "api_key", id="a key before an invalid token"),
        pytest.param(["key", "invalid cookie"], "api_key", id="a key before an invalid cookie"),
        pytest.param(
            ["key", "invalid token", "cookie"], "api_key", id="a key before an invalid token and a cookie"
        ),
        pytest.param(
            ["key", "token", "invalid cookie"], "api_key", id="a key before a token and an invalid cookie"
        ),
        pytest.param(["key", "invalid token", "invalid cookie"], "api_key", id="a key before invalid ones"),
        pytest.param(["token", "invalid cookie"], "jwt", id="a token before an invalid cookie"),
    ],
)
async def test_the_first_credential_authenticates(
    anyone: Client, credentials: dict[str, dict[str, str]], sent: list[str], method: str
) -> None:
    headers = {name: value for each in sent for name, value in credentials[each].items()}
    answer = await anyone.get("/v1/auth/session", headers=headers)

    assert (answer.status_code, answer.json()["method"]) == (200, method)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(["invalid key"], id="a key alone"),
        pytest.param(["invalid token"], id="a token alone"),
        pytest.param(["invalid cookie"], id="a cookie alone"),
        pytest.param(["invalid key", "token"], id="a key before a valid token"),
        pytest.param(["invalid key", "cookie"], id="a key before a valid cookie"),
        pytest.param(["invalid key", "token", "cookie"], id="a key before two valid ones"),
        pytest.param(["invalid key", "invalid token", "cookie"], id="two before a valid cookie"),
        pytest.param(["invalid key", "token", "invalid cookie"], id="two around a valid token"),
        pytest.param(["invalid key", "invalid token", "invalid cookie"], id="all three"),
        pytest.param(["invalid token", "cookie"], id="a token before a valid cookie"),
        pytest.param(["invalid token", "invalid cookie"], id="a token and a cookie"),
    ],
)
async def test_an_invalid_first_credential_is_refused(
    anyone: Client, credentials: dict[str, dict[str, str]], sent: list[str]
) -> None:
    headers = {name: value for each in sent for name, value in credentials[each].items()}
    answer = await anyone.get("/v1/auth/session", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (401, "credentials_invalid")
