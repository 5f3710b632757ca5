"""Receivers written by others verify what is sent."""

import json
from datetime import timedelta

import pytest
import standardwebhooks
import svix.webhooks

from builders.kit.values import clock
from builders.webhooks import signing
from builders.webhooks.store import secrets
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying
from tests.webhooks.engine.house import House, body_of, head_of, later

VERIFIERS = [standardwebhooks.Webhook, svix.webhooks.Webhook]
OLD, NEW = signing.generate_secret(), signing.generate_secret()


@pytest.fixture(params=VERIFIERS, ids=["standardwebhooks", "svix"])
def verifier(request: pytest.FixtureRequest) -> type[standardwebhooks.Webhook]:
    kind: type[standardwebhooks.Webhook] = request.param
    return kind


def verify(kind: type[standardwebhooks.Webhook], secret: str, request: bytes) -> None:
    """Raises WebhookVerificationError."""
    found = kind(secret).verify(body_of(request), head_of(request))
    assert found is None or found == json.loads(body_of(request))  # svix gives nothing back


async def send_one(house: House, receiver: Receiver, secret: str) -> bytes:
    account = await house.account()
    async with calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url, secret=secret)
        await house.happen(account.id)
        assert await house.rounds() == 1
    return receiver.requests[-1]


async def test_a_delivery_verifies(house: House, verifier: type[standardwebhooks.Webhook]) -> None:
    async with receiving(saying(OK)) as receiver:
        request = await send_one(house, receiver, OLD)
    verify(verifier, OLD, request)


async def test_a_delivery_under_another_secret_does_not(
    house: House, verifier: type[standardwebhooks.Webhook]
) -> None:
    async with receiving(saying(OK)) as receiver:
        request = await send_one(house, receiver, OLD)
    with pytest.raises((standardwebhooks.WebhookVerificationError, svix.webhooks.WebhookVerificationError)):
        verify(verifier, NEW, request)
    altered = request.replace(b'"livemode":true', b'"livemode":false')
    with pytest.raises((standardwebhooks.WebhookVerificationError, svix.webhooks.WebhookVerificationError)):
        verify(verifier, OLD, altered)


async def test_a_secret_of_words_is_its_bytes(house: House) -> None:
    async with receiving(saying(OK)) as receiver:
        request = await send_one(house, receiver, "correct horse battery staple é")
    head, body = head_of(request), body_of(request)
    webhook = standardwebhooks.Webhook("correct horse battery staple é".encode())
    assert webhook.verify(body, head) == json.loads(body)


async def test_during_a_rotation_both_secrets_verify_and_afterwards_the_new_one(
    house: House, verifier: type[standardwebhooks.Webhook]
) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        made = await house.destination(account.id, receiver.url, secret=OLD)
        async with house.database.transaction() as conn:
            await secrets.rotate(
                conn,
                account_id=account.id,
                destination_id=made,
                secret=signing.seal_secret(house.keyring, NEW, account_id=account.id, destination_id=made),
                secret_hint=signing.hint_of(NEW),
                old_secret_until=clock.now() + timedelta(hours=24),
                now=clock.now(),
            )
        await house.happen(account.id)
        await house.rounds()
        for secret in (OLD, NEW):
            verify(verifier, secret, receiver.requests[-1])
        assert len(head_of(receiver.requests[-1])["webhook-signature"].split(" ")) == 2

        later(timedelta(hours=25))
        await house.happen(account.id)
        await house.rounds()
    assert len(head_of(receiver.requests[-1])["webhook-signature"].split(" ")) == 1


async def test_a_retry_is_signed_anew_over_the_same_bytes(
    house: House, verifier: type[standardwebhooks.Webhook]
) -> None:
    account = await house.account()
    async with receiving(saying(b"HTTP/1.1 500 No\r\n\r\n")) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url, secret=OLD)
        await house.happen(account.id)
        await house.rounds()
        receiver.answer = saying(OK)
        later(timedelta(seconds=8))
        await house.rounds()
    first, second = receiver.requests
    assert body_of(first) == body_of(second)
    verify(verifier, OLD, first)
    heads = head_of(first), head_of(second)
    assert heads[0]["webhook-id"] == heads[1]["webhook-id"]
    assert heads[0]["webhook-signature"] != heads[1]["webhook-signature"]
    assert [each["webhook-attempt"] for each in heads] == ["1", "2"]


async def test_what_cannot_be_signed_is_tried_again_and_not_sent(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        made = await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        async with house.database.transaction() as conn:
            await conn.execute("UPDATE webhooks_destinations SET secret = '\\x00' WHERE id = %s", [made])
        await house.rounds()
    assert receiver.requests == []
    assert (await house.one()).last_error == "unsealable"
