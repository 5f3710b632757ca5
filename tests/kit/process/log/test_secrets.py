import logging

import pytest
from pydantic import BaseModel, Field, ValidationError

from builders.kit.process import log
from builders.kit.process.redaction import redact
from builders.kit.process.secret_keys import Keyring, generate_secret
from tests.kit.process.log.written import Written

KEY = "svc_live_Zx81kQm4vR7tYb2nWc5dLh9s"
WEBHOOK = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl"
DSN = "postgresql://builders:hunter2@127.0.0.1:5432/builders"


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "Password",
        "smtp_password",
        "signing_secret",
        "token",
        "access-token",
        "Authorization",
        "api_key",
        "X-API-Key",
        "apikey",
        "cookie",
        "Set-Cookie",
        "conninfo",
        "credentials",
        "auth_code",
    ],
)
def test_a_value_with_the_name_of_a_secret_is_masked_at_any_depth(written: Written, name: str) -> None:
    log.get_logger().info("x", **{name: "hunter2"}, deep=[{"in": ({name: ["hunter2"]},)}])
    event = written.one()
    assert event[name] == "***"
    assert event["deep"] == [{"in": [{name: "***"}]}]


def test_null_secrets_are_shown(written: Written) -> None:
    log.get_logger().info("x", token=None, password=False)
    assert (written.one()["token"], written.one()["password"]) == (None, False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {KEY}.", "key svc_live_***."),
        (f"['{KEY.replace('live', 'test')}']", "['svc_test_***']"),
        (f"with {WEBHOOK}", "with whsec_***"),
        ("Authorization: Bearer abc.def-_~+/=", "Authorization: ***"),
        ("got bearer   abc", "got bearer ***"),
        ("authorization: Basic YTpi", "authorization: ***"),
        ("Cookie: a=b; svc_access_token=c", "Cookie: ***"),
        (JWT, "***"),
        (DSN, "postgresql://***@127.0.0.1:5432/builders"),
        ("postgres://u:p@ss/wo?rd@host/db", "postgres://***@host/db"),
        ("https://user:hunter2@example.com/a@b", "https://***@example.com/a@b"),
        ("https://example.com/?mail=ada@example.com", "https://example.com/?mail=***"),
        ("/v1/names/ada.lovelace+x%40example.com/log", "/v1/names/***/log"),
        ("550 5.1.1 <r***@mail.example>: unknown", "550 5.1.1 <***>: unknown"),
        ("'ada@mail.example', 'b@sub.mail.example'", "'***', '***'"),
        ("GET /v1/leads/confirm?token=hunter2&a=b", "GET /v1/leads/confirm?token=***&a=b"),
        (
            "https://registrar.example/api?version=1&key=hunter2",
            "https://registrar.example/api?version=1&key=***",
        ),
        ("host=db password='hunter 2' user=a", "host=db password=*** user=a"),
        ("{'password': 'hunter2', 'a': 1}", "{'password': ***, 'a': 1}"),
        ('{"access_token": "hunter2", "a": 1}', '{"access_token": ***, "a": 1}'),
        (r"{\"secret\":\"hunter2\"}", r"{\"secret\":***"),
        ("Key(signing_secret='hunter2', id=1)", "Key(signing_secret=***, id=1)"),
        ("(b'x', b'token=hunter2')", "(b'x', b'token=***')"),
        ("the token has expired", "the token has expired"),
    ],
)
def test_what_looks_like_a_secret_is_masked_in_any_text(written: Written, text: str, shown: str) -> None:
    log.get_logger().info(text, value=text, deep=[{"a": (text,)}])
    event = written.one()
    assert event["event"].startswith(shown)
    assert event["value"].startswith(shown)
    assert event["deep"][0]["a"][0].startswith(shown)
    assert "hunter2" not in written.text


def test_a_secret_that_is_the_name_of_a_field_is_masked(written: Written) -> None:
    log.get_logger().info("x", seen={KEY: 1, DSN: 2})
    assert written.one()["seen"] == {"svc_live_***": 1, "postgresql://***@127.0.0.1:5432/builders": 2}


def _fail() -> None:
    error = PermissionError(f"{KEY} is not allowed")
    error.add_note(f"sent Bearer {JWT}")
    raise error from ConnectionError(DSN)


def test_a_secret_thrown_in_an_exception_does_not_reach_the_log(written: Written) -> None:
    try:
        _fail()
    except PermissionError as error:
        log.get_logger().exception("failed", error=error, args=error.args)
        logging.getLogger("stdlib").exception("failed")
    for event in written.events():
        assert event["level"] == "error"
        assert "Traceback (most recent call last):\n" in event["exception"]
        assert "PermissionError: svc_live_*** is not allowed" in event["exception"]
        assert "ConnectionError: postgresql://***@127.0.0.1" in event["exception"]
    for secret in (KEY, "hunter2", JWT):
        assert secret not in written.text


def test_the_input_that_pydantic_shows_is_masked(written: Written) -> None:
    class Body(BaseModel):
        phrase: str = Field(min_length=100)

    with pytest.raises(ValidationError) as refused:
        Body(phrase="correct horse battery staple")
    log.get_logger().info("refused", error=refused.value)
    assert "input_value=***, input_type=str" in written.one()["error"]
    assert "horse" not in written.text


def test_a_keyring_may_be_logged(written: Written) -> None:
    secret = generate_secret()
    log.get_logger().info("x", ring=Keyring([secret]))
    assert written.one()["ring"].startswith("Keyring(")
    assert secret not in written.text


@pytest.mark.parametrize("at", [4_000, 8_192, 16_384, 100_000])
def test_a_secret_at_a_truncation_boundary_is_masked(written: Written, at: int) -> None:
    for shift in range(0, 60, 3):
        log.get_logger().info("x" * (at - shift) + f" {DSN} {KEY} " + "y" * (at - shift))
    assert "hunter2" not in written.text
    assert KEY[:14] not in written.text


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "://",
        "://a:",
        "postgres://",
        "Bearer ",
        "password=",
        "password='",
        'token="\\',
        "token'",
        "svc_live_",
        "eyJ",
        "eyJa.",
        "input_value=",
        " ",
        "cookie: ",
        "@",
        "&key=",
    ],
)
def test_a_long_hostile_text_is_searched_to_its_end(part: str) -> None:
    text = part * (262_144 // len(part))  # a search that is not linear would take minutes
    assert KEY not in redact(f"{text}\n{KEY}")
