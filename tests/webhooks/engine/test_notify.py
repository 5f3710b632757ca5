"""The owner of a destination that was disabled for its failures gets an email."""

from typing import Any

import pytest

from builders.mail.templates import WebhookDisabled
from tests.kit.outbound.receivers import calling, receiving, saying
from tests.webhooks.engine.harness import Harness, status


@pytest.mark.parametrize("sandbox", [False, True])
async def test_the_email_says_whether_it_concerns_the_sandbox(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, *, sandbox: bool
) -> None:
    sent: list[dict[str, Any]] = []

    async def send(_: object, **given: Any) -> None:
        sent.append(given)

    monkeypatch.setattr("builders.webhooks.jobs.mail.send", send)
    account = await harness.account()
    owner = account.sandbox_id if sandbox else account.id
    async with receiving(saying(status(410))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(owner, receiver.url)
        await harness.happen(owner)
        await harness.round()
    await harness.dispatch()
    await harness.drain_jobs()

    ((message, to),) = [(each["template"], each["to"]) for each in sent]
    assert isinstance(message, WebhookDisabled)
    assert (message.sandbox, message.url, to) == (sandbox, receiver.url, account.email)
