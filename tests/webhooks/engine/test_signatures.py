"""Third-party libraries verify the signatures."""

import json
from datetime import timedelta

import pytest
import standardwebhooks
import svix.webhooks

from builders.kit.values import clock
from builders.webhooks import signatures
from builders.webhooks.store import destinations
from tests.kit.outbound.receivers import OK, Receiver, calling, receiving, saying
from tests.webhooks.engine.harness import Harness, body_of, head_of, later

VERIFIERS = [standardwebhooks.Webhook, svix.webhooks.Webhook]
OLD, NEW = signatures.generate_secret(), signatures.generate_secret()


@pytest.fixture(params=VERIFIERS, ids=["standardwebhooks", "svix"])
def verifier(request: pytest.FixtureRequest) -> type[standardwebhooks.Webhook]:
    kind: type[standardwebhooks.Webhook] = request.param
    return kind


def verify(kind: type[standardwebhooks.Webhook], secret: str, request: bytes) -> None:
    """Verify a delivery. Raises WebhookVerificationError."""
    found = kind(secret).verify(body_of(request), head_of(request))
    assert found is None or found == json.loads(body_of(request))  # svix gives nothing back


async def send_one(harness: Harness, receiver: Receiver, secret: str) -> bytes:
    account = await harness.account()
    async with calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url, secret=secret)
        await harness.happen(account.id)
        assert await harness.rounds() == 1
    return receiver.requests[-1]


async def test_a_signature_verifies(harness: Harness, verifier: type[standardwebhooks.Webhook]) -> None:
    async with receiving(saying(OK)) as receiver:
        request = await send_one(harness, receiver, OLD)
    verify(verifier, OLD, request)


async def test_a_signature_of_another_secret_does_not_verify(
    harness: Harness, verifier: type[standardwebhooks.Webhook]
) -> None:
    async with receiving(saying(OK)) as receiver:
        request = await send_one(harness, receiver, OLD)
    with pytest.raises((standardwebhooks.WebhookVerificationError, svix.webhooks.WebhookVerificationError)):
        verify(verifier, NEW, request)
    altered = request.replace(b'"livemode":true', b'"livemode":false')
    with pytest.raises((standardwebhooks.WebhookVerificationError, svix.webhooks.WebhookVerificationError)):
        verify(verifier, OLD, altered)


async def test_a_secret_without_prefix_signs_with_its_bytes(harness: Harness) -> None:
    async with receiving(saying(OK)) as receiver:
        request = await send_one(harness, receiver, "correct horse battery staple é")
    head, body = head_of(request), body_of(request)
    webhook = standardwebhooks.Webhook("correct horse battery staple é".encode())
    assert webhook.verify(body, head) == json.loads(body)


async def test_during_a_rotation_both_secrets_verify_and_afterwards_the_new_one(
    harness: Harness, verifier: type[standardwebhooks.Webhook]
) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        made = await harness.destination(account.id, receiver.url, secret=OLD)
        async with harness.database.transaction() as conn:
            await destinations.rotate(
                conn,
                account_id=account.id,
                destination_id=made,
                secret=signatures.seal_secret(harness.keyring, NEW, account_id=account.id, destination_id=made),
                secret_hint=signatures.hint_of(NEW),
                old_secret_until=clock.now() + timedelta(hours=24),
                now=clock.now(),
            )
        await harness.happen(account.id)
        await harness.rounds()
        for secret in (OLD, NEW):
            verify(verifier, secret, receiver.requests[-1])
        assert len(head_of(receiver.requests[-1])["webhook-signature"].split(" ")) == 2

        later(timedelta(hours=25))
        await harness.happen(account.id)
        await harness.rounds()
    assert len(head_of(receiver.requests[-1])["webhook-signature"].split(" ")) == 1


async def test_a_retry_has_a_new_signature_of_the_same_bytes(
    harness: Harness, verifier: type[standardwebhooks.Webhook]
) -> None:
    account = await harness.account()
    async with receiving(saying(b"HTTP/1.1 500 No\r\n\r\n")) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url, secret=OLD)
        await harness.happen(account.id)
        await harness.rounds()
        receiver.answer = saying(OK)
        later(timedelta(seconds=8))
        await harness.rounds()
    first, second = receiver.requests
    assert body_of(first) == body_of(second)
    verify(verifier, OLD, first)
    heads = head_of(first), head_of(second)
    assert heads[0]["webhook-id"] == heads[1]["webhook-id"]
    assert heads[0]["webhook-signature"] != heads[1]["webhook-signature"]
    assert [each["webhook-attempt"] for each in heads] == ["1", "2"]


async def test_a_delivery_that_cannot_be_signed_is_retried_and_not_sent(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        made = await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        async with harness.database.transaction() as conn:
            await conn.execute("UPDATE webhooks_destinations SET secret = '\\x00' WHERE id = %s", [made])
        await harness.rounds()
    assert receiver.requests == []
    assert (await harness.one()).last_error == "unsealable"
