"""Verification of webhook requests, as the service and the library of the standard sign them."""

import json
from base64 import b64encode
from datetime import UTC, datetime
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook

from builders.webhooks import signatures
from builders_client.errors import SignatureMismatch
from builders_client.webhooks import sign, verify

EVENT_ID = UUID("0193a1b2-0000-7000-8000-000000000001")
NOW = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
# Not random: names of tests contain them, and all workers need the same names.
SECRET, OTHER = (signatures.SECRET_PREFIX + b64encode(bytes([number]) * 32).decode() for number in (1, 2))
BODY = json.dumps(
    {
        "id": str(EVENT_ID),
        "type": "alias.created",
        "timestamp": "2026-01-05T09:30:00.000000Z",
        "account_id": str(EVENT_ID),
        "livemode": True,
        "data": {"address": "ada@harbour.example"},
        "simulated": True,
    }
).encode()


def headers(*secrets: str, body: bytes = BODY) -> dict[str, str]:
    """Return the headers of a delivery of the service, signed with the secrets."""
    keys = [signatures.key_of(each) for each in secrets]
    return signatures.signed_headers(keys, event_id=EVENT_ID, body=body, n=1, test=False, now=NOW)


def check(
    secret: str | list[str], given_headers: dict[str, str], body: bytes | str = BODY, late: float = 0
) -> str:
    return verify(body, given_headers, secret, now=NOW.timestamp() + late).id


@pytest.mark.parametrize("secret", [SECRET, "a plain secret of this account", "é" * 20])
def test_a_delivery_of_the_service_is_accepted(secret: str) -> None:
    assert check(secret, headers(secret)) == str(EVENT_ID)


def test_the_event_keeps_members_of_a_later_revision() -> None:
    event = verify(BODY.decode(), headers(SECRET), SECRET, now=NOW.timestamp())
    assert (event.type, event.data["address"]) == ("alias.created", "ada@harbour.example")
    assert event.model_extra == {"simulated": True}


def test_a_delivery_during_a_rotation_is_accepted_with_either_secret() -> None:
    both = headers(SECRET, OTHER)
    assert check(SECRET, both) == check(OTHER, both)


def test_a_receiver_can_have_both_secrets() -> None:
    assert check([OTHER, SECRET], headers(SECRET))


def test_names_of_headers_are_read_in_any_case() -> None:
    assert check(SECRET, {name.title(): value for name, value in headers(SECRET).items()})


def test_a_signature_of_the_standard_library_is_accepted() -> None:
    signed = Webhook(SECRET).sign(str(EVENT_ID), NOW, BODY.decode())
    assert check(SECRET, headers(OTHER) | {"webhook-signature": signed})


def test_the_headers_of_the_client_are_those_of_the_service() -> None:
    ours = sign(BODY, SECRET, event_id=str(EVENT_ID), now=NOW.timestamp())
    assert ours.items() <= headers(SECRET).items()


@pytest.mark.parametrize("late", [301, -301])
def test_an_old_or_future_delivery_is_refused(late: float) -> None:
    with pytest.raises(SignatureMismatch):
        check(SECRET, headers(SECRET), late=late)


def test_the_tolerance_is_an_option() -> None:
    assert verify(BODY, headers(SECRET), SECRET, tolerance=1000, now=NOW.timestamp() + 900)


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "0193a1b2-0000-7000-8000-000000000002"},
        {"webhook-timestamp": str(int(NOW.timestamp()) + 1)},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": ""},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v2,AAAA"},
        {"webhook-signature": "é"},
    ],
)
def test_altered_headers_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(SignatureMismatch):
        check(SECRET, headers(SECRET) | change)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_refused(name: str) -> None:
    with pytest.raises(SignatureMismatch):
        check(SECRET, {key: value for key, value in headers(SECRET).items() if key != name})


@pytest.mark.parametrize("body", [b"", b"{}", BODY + b" ", BODY.replace(b"ada", b"eve"), b"\xff"])
def test_another_body_is_refused(body: bytes) -> None:
    with pytest.raises(SignatureMismatch):
        check(SECRET, headers(SECRET), body)


@pytest.mark.parametrize("secret", [OTHER, SECRET[:-4] + "AAA=", "a plain secret of this account"])
def test_another_secret_is_refused(secret: str) -> None:
    with pytest.raises(SignatureMismatch):
        check(secret, headers(SECRET))


def test_a_wrong_secret_is_an_error_of_the_program() -> None:
    with pytest.raises(ValueError, match="base64"):
        check("whsec_*", headers(SECRET))
