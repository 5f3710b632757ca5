"""The first credential in order decides."""

import pytest

from builders.kit.http.callers import Credential, CredentialsInvalid, find_credential

KEY, BEARER = ("X-API-Key", "svc_live_a"), ("Authorization", "Bearer b.c.d")
COOKIE = ("Cookie", "other=1; svc_access_token=e.f.g; more=2")


def find(*headers: tuple[str, str]) -> tuple[str, str] | None:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    found = find_credential({"type": "http", "headers": raw})
    return None if found is None else (found.kind, found.text)


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        pytest.param([], None, id="no header"),
        pytest.param([KEY], ("api_key", "svc_live_a"), id="a key"),
        pytest.param([BEARER], ("bearer", "b.c.d"), id="a bearer"),
        pytest.param([COOKIE], ("cookie", "e.f.g"), id="a cookie"),
        pytest.param([COOKIE, BEARER, KEY], ("api_key", "svc_live_a"), id="all three"),
        pytest.param([COOKIE, BEARER], ("bearer", "b.c.d"), id="a bearer and a cookie"),
        pytest.param(
            [("Authorization", "Basic x"), KEY], ("api_key", "svc_live_a"), id="another scheme and a key"
        ),
        pytest.param([("X-API-Key", "  "), BEARER], ("bearer", "b.c.d"), id="a blank key and a bearer"),
        pytest.param(
            [("Authorization", " "), COOKIE], ("cookie", "e.f.g"), id="a blank Authorization and a cookie"
        ),
        pytest.param([("X-API-Key", " svc_live_a ")], ("api_key", "svc_live_a"), id="spaces around a key"),
        pytest.param([("X-API-Key", "\xe4")], ("api_key", "\xe4"), id="a key outside of ASCII"),
        pytest.param(
            [("Authorization", "bEaReR   b.c.d  ")], ("bearer", "b.c.d"), id="capitals and spaces around a bearer"
        ),
        pytest.param([("Cookie", "svc_access_token=")], None, id="an empty cookie"),
        pytest.param([("Cookie", "xsvc_access_token=e")], None, id="a cookie whose name ends equally"),
        pytest.param([("Cookie", "other=svc_access_token")], None, id="a cookie whose value is the name"),
        pytest.param(
            [("Cookie", "svc_access_token=e.f.g"), ("Cookie", "other=1")],
            ("cookie", "e.f.g"),
            id="two Cookie headers",
        ),
    ],
)
def test_the_key_then_the_bearer_then_the_cookie(
    headers: list[tuple[str, str]], found: tuple[str, str] | None
) -> None:
    assert find(*headers) == found


@pytest.mark.parametrize("value", ["Basic x", "Bearer", "Bearer ", "Bearer\t", "b.c.d", "Token b", "Bearerb.c.d"])
def test_another_authorization_scheme_is_refused_without_a_fallback(value: str) -> None:
    with pytest.raises(CredentialsInvalid):
        find(("Authorization", value), COOKIE)


def test_credentials_are_not_in_the_repr() -> None:
    assert repr(Credential("bearer", "hidden")) == "Credential(bearer)"
