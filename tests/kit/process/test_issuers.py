import json
from typing import Any

import pytest
from pydantic import ValidationError

from builders.kit.process.settings import Settings

GOOD = {"issuer": "https://login.example", "audience": "builders"}


def settings(text: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings as they are read from the environment."""
    monkeypatch.setenv("BUILDERS_OIDC_ISSUERS", text)
    return Settings()


def test_an_issuer_needs_a_name_and_an_audience(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = settings(json.dumps([GOOD]), monkeypatch).oidc_issuers

    assert (found.issuer, found.audience) == ("https://login.example", "builders")
    assert (found.jwks_uri, found.algorithms, found.sign_up) == (None, ("RS256", "ES256"), False)


@pytest.mark.parametrize(
    "issuer", ["http://127.0.0.1:9000", "http://localhost:9000/realms/one", "http://[::1]:9000"]
)
def test_a_loopback_issuer_may_use_http(monkeypatch: pytest.MonkeyPatch, issuer: str) -> None:
    assert settings(json.dumps([{**GOOD, "issuer": issuer}]), monkeypatch).oidc_issuers[0].issuer == issuer


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nonsense", "not JSON"),
        (GOOD, "write a JSON list"),
        (7, "write a JSON list"),
        (["x"], "0: Input should be"),
        ([{}], "0.issuer: Field required"),
        ([{"issuer": "https://login.example"}], "0: write an audience, to accept tokens, or a client_id"),
        ([{**GOOD, "client_id": "web"}], "0: write both client_id and client_secret, or neither"),
        ([{**GOOD, "client_secret": "s3cret"}], "0: write both client_id and client_secret, or neither"),
        (
            [{**GOOD, "client_id": GOOD["audience"], "client_secret": "s3cret"}],
            "0: audience and client_id are equal",
        ),
        ([{**GOOD, "client_id": "web", "client_secret": ""}], "0.client_secret"),
        ([{**GOOD, "name": "a\nb"}], "0.name"),
        ([{**GOOD, "audience": ""}], "0.audience"),
        ([{**GOOD, "issuer": "http://login.example"}], "0.issuer: write an https address"),
        ([{**GOOD, "issuer": "login.example"}], "0.issuer: write an https address"),
        ([{**GOOD, "issuer": "https://"}], "0.issuer: write an https address"),
        ([{**GOOD, "issuer": "https://login.example?a=b"}], "0.issuer: write an https address"),
        ([{**GOOD, "issuer": "https://[::1"}], "0.issuer"),
        ([GOOD, {**GOOD, "jwks_uri": "http://login.example/jwks"}], "1.jwks_uri: write an https address"),
        ([{**GOOD, "algorithms": []}], "0.algorithms"),
        ([{**GOOD, "algorithms": ["HS256"]}], "0.algorithms.0"),
        ([{**GOOD, "algorithms": ["none"]}], "0.algorithms.0"),
        ([{**GOOD, "sign_up": "maybe"}], "0.sign_up"),
        ([{**GOOD, "audiences": ["a"]}], "0.audiences: Extra inputs"),
        ([GOOD, GOOD], "an issuer occurs twice"),
    ],
)
def test_an_error_names_the_wrong_member(monkeypatch: pytest.MonkeyPatch, value: Any, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        settings(value if isinstance(value, str) else json.dumps(value), monkeypatch)

    (wrong,) = refused.value.errors()
    assert wrong["loc"] == ("oidc_issuers",)
    assert said in wrong["msg"]


def test_the_service_itself_is_no_other_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_BASE_URL", "https://builders.example")

    with pytest.raises(ValidationError, match="is this service"):
        settings(json.dumps([{**GOOD, "issuer": "https://builders.example"}]), monkeypatch)


def test_the_client_secret_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with_client = {**GOOD, "client_id": "web", "client_secret": "s3cret-of-web"}
    read = settings(json.dumps([with_client]), monkeypatch)
    with pytest.raises(ValidationError) as wrong:
        settings(json.dumps([{**with_client, "sign_up": "maybe"}]), monkeypatch)

    assert read.oidc_issuers[0].label == "login.example"
    assert "s3cret-of-web" not in repr(read)
    assert "s3cret-of-web" not in "".join(each["msg"] for each in wrong.value.errors())
