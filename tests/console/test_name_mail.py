"""What happened to the mail of a name, its correspondents, emails of the service, and devices in words."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from builders.console.notices import of_mail_code
from builders.console.states import device
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.console.visitor import Visitor
from tests.plans import make

Visit = Callable[[Person], Awaitable[Visitor]]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("2.0.0", "accepted by its server"),
        ("5.1.1", "there is no such mailbox"),
        ("5.1.10", "its domain takes no mail"),
        ("4.2.2", "the mailbox is full"),
        ("5.7.26", "its server refuses the message as unwanted, or by a rule"),
        ("5.9.9", "its server says 5.9.9"),
    ],
)
def test_a_code_of_a_mail_server_is_a_reason(code: str, reason: str) -> None:
    assert of_mail_code(code) == reason


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1",
            "Safari on an iPhone",
        ),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Chrome/141.0 Safari/537.36 Edg/141.0", "Edge on a Mac"),
        ("Mozilla/5.0 (Linux; Android 16) Chrome/141.0 Mobile Safari/537.36", "Chrome on Android"),
        ("bld/1.2", "the bld program"),
        ("something", "another program"),
        (None, "an unknown device"),
    ],
)
def test_a_device_is_named_in_words(agent: str | None, words: str) -> None:
    assert device(agent) == words


async def test_the_mail_of_a_name_has_counts_and_results_with_reasons(
    browser: Visitor, alice: Person, name: str
) -> None:
    now = clock.now()
    async with alice.service.api.state.database.transaction() as conn:
        await conn.execute(
            "INSERT INTO forwarding_results (id, account_id, alias_id, queue_id, destination, outcome, code,"
            " created_at, at) VALUES (%s, %s, %s, 'Q1', 'ada@example.net', 'bounced', '5.1.1', %s, %s)",
            [ids.new(), alice.account.id, name, now - timedelta(minutes=1), now],
        )
    page = await browser.open(f"/console/names/{name}/mail")

    assert "there is no such mailbox" in page.text
    assert "not delivered" in page.text


async def test_a_name_without_mail_says_so(browser: Visitor, name: str) -> None:
    assert "No mail in the last 90 days." in (await browser.open(f"/console/names/{name}/mail")).text


async def test_a_reply_address_is_made_and_removed(browser: Visitor, alice: Person, name: str) -> None:
    path = f"/console/names/{name}/correspondents"
    assert "may not answer as this name yet" in (await browser.open(path)).text
    assert (await alice.patch(f"/v1/aliases/{name}", json={"reply": True})).is_success
    done = await browser.submit(await browser.open(path), "correspondent-add", email="friend@example.net")
    [made] = (await alice.get(f"/v1/aliases/{name}/correspondents")).json()["items"]
    assert f"Write to {made['reverse_address']}" in done.text
    await browser.submit(await browser.open(path), "correspondent-remove")

    assert (await alice.get(f"/v1/aliases/{name}/correspondents")).json()["items"] == []


@pytest.mark.parametrize("page", ["mail", "correspondents"])
async def test_a_stranger_opens_no_page_of_a_name(visit: Visit, bob: Person, name: str, page: str) -> None:
    await (await visit(bob)).open(f"/console/names/{name}/{page}", status=404)


async def test_an_open_invoice_says_how_to_pay_without_a_payment_page(
    browser: Visitor, alice: Person, domain: str
) -> None:
    promotion = await make.apply(alice, make.alias(f"eve@{domain}"))
    page = await browser.open(f"/console/invoices/{promotion['invoices'][0]['id']}")

    assert "How to pay" in page.text


async def test_sessions_name_their_device(browser: Visitor) -> None:
    page = await browser.open("/console/sessions")

    assert "Mozilla" not in page.text


async def test_a_sample_of_notices_says_where_it_went(browser: Visitor) -> None:
    done = await browser.submit(await browser.open("/console/portfolio/notices"), "samples-send")

    assert "sample" in done.text.lower()
