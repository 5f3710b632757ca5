"""Who owns a destination is written to when it is disabled for its failures."""

from typing import Any

import pytest

from builders.mail.records import WebhookDisabled
from tests.kit.outbound.receivers import calling, receiving, saying
from tests.webhooks.engine.house import House, status


@pytest.mark.parametrize("sandbox", [False, True])
async def test_the_letter_says_whether_it_is_of_the_sandbox(
    house: House, monkeypatch: pytest.MonkeyPatch, *, sandbox: bool
) -> None:
    sent: list[dict[str, Any]] = []

    async def send(_: object, **given: Any) -> None:
        sent.append(given)

    monkeypatch.setattr("builders.webhooks.jobs.mail.send", send)
    account = await house.account()
    owner = account.sandbox_id if sandbox else account.id
    async with receiving(saying(status(410))) as receiver, calling(receiver) as house.outbound:
        await house.destination(owner, receiver.url)
        await house.happen(owner)
        await house.round()
    await house.dispatch()
    await house.drain_jobs()

    ((letter, to),) = [(each["letter"], each["to"]) for each in sent]
    assert isinstance(letter, WebhookDisabled)
    assert (letter.sandbox, letter.url, to) == (sandbox, receiver.url, account.email)
