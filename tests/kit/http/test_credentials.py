"""The first credential in order decides."""

import pytest

from builders.kit.http.credentials import Credential, CredentialsInvalid, find_credential

KEY, BEARER = ("X-API-Key", "svc_live_a"), ("Authorization", "Bearer b.c.d")
COOKIE = ("Cookie", "other=1; svc_access_token=e.f.g; more=2")


def find(*headers: tuple[str, str]) -> tuple[str, str] | None:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    found = find_credential({"type": "http", "headers": raw})
    return None if found is None else (found.kind, found.text)


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ([], None),
        ([KEY], ("api_key", "svc_live_a")),
        ([BEARER], ("bearer", "b.c.d")),
        ([COOKIE], ("cookie", "e.f.g")),
        ([COOKIE, BEARER, KEY], ("api_key", "svc_live_a")),
        ([COOKIE, BEARER], ("bearer", "b.c.d")),
        ([("Authorization", "Basic x"), KEY], ("api_key", "svc_live_a")),
        ([("X-API-Key", "  "), BEARER], ("bearer", "b.c.d")),
        ([("Authorization", " "), COOKIE], ("cookie", "e.f.g")),
        ([("X-API-Key", " svc_live_a ")], ("api_key", "svc_live_a")),
        ([("X-API-Key", "\xe4")], ("api_key", "\xe4")),
        ([("Authorization", "bEaReR   b.c.d  ")], ("bearer", "b.c.d")),
        ([("Cookie", "svc_access_token=")], None),
        ([("Cookie", "xsvc_access_token=e")], None),
        ([("Cookie", "other=svc_access_token")], None),
        ([("Cookie", "svc_access_token=e.f.g"), ("Cookie", "other=1")], ("cookie", "e.f.g")),
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
