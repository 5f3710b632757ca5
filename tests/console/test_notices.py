"""What the page after a form says: what happened, by the reply, and nothing that a link could make up."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from builders.app import Service
from builders.console import notices
from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Person
from tests.console.visitor import Visitor
from tests.kit.outbound.receivers import Receiver, saying
from tests.webhooks import make as webhooks
from tests.webhooks.reaching import reachable

Visit = Callable[[Person], Awaitable[Visitor]]
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
async def receiver(service: Service) -> AsyncIterator[Receiver]:
    async with reachable(service) as receiver:
        yield receiver


def said(page: httpx.Response) -> tuple[str, str]:
    """Return the kind and the text of the notice of a page."""
    [found] = re.findall(r'<p class="notice (\w+)" role="status">(.*?)</p>', page.text)
    kind, text = found
    return kind, text


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, ("good", "The test event was sent. The receiver answered 200.")),
        (BROKEN, ("bad", "The test event was sent, but not accepted: the receiver answered 500.")),
        (
            b"no HTTP\r\n\r\n",
            (
                "bad",
                "The test event did not arrive: the connection was lost, or the answer is not valid HTTP.",
            ),
        ),
    ],
)
async def test_a_test_event_tells_what_the_receiver_answered_and_is_marked(
    browser: Visitor, alice: Person, receiver: Receiver, answer: bytes | None, told: tuple[str, str]
) -> None:
    made = await webhooks.create(alice, url=receiver.url)
    if answer is not None:
        receiver.answer = saying(answer)
    page = await browser.open(f"/console/webhooks/{made['id']}")
    after = await browser.submit(page, "webhook-test")
    lists = [await browser.open(each) for each in ("/console", "/console/deliveries")]

    assert said(after) == told
    marked = [len(re.findall(r"alias\.\w+</a> <small>test</small>", each.text)) for each in (after, *lists)]
    assert marked == [1, 0 if answer is None else 1, 1]
    assert "/do/delivery-retry" not in lists[0].text  # a test is sent anew


async def test_a_retry_tells_what_the_receiver_answered(
    browser: Visitor, alice: Person, receiver: Receiver, database: Database
) -> None:
    await webhooks.create(alice, url=receiver.url, events=["*"])
    await webhooks.happen(database, alice.account.id)
    [waiting] = (await alice.get(webhooks.DELIVERIES)).json()["items"]
    receiver.answer = saying(BROKEN)
    page = await browser.open(f"/console/deliveries/{waiting['id']}")

    assert said(await browser.submit(page, "delivery-retry")) == (
        "bad",
        "The event was sent, but not accepted: the receiver answered 500.",
    )


async def test_a_domain_without_its_record_is_not_said_to_be_verified(browser: Visitor) -> None:
    added = await browser.submit(await browser.open("/console/domains"), "domain-add", domain="own-name.example")
    after = await browser.submit(added, "domain-verify")

    assert said(added) == ("wait", "The domain is added. Set its DNS records, then verify it.")
    kind, text = said(after)
    assert (kind, "The domain is not verified." in text) == ("bad", True)


async def test_a_notice_of_a_link_is_shown_only_to_the_session_that_was_told(
    visit: Visit, alice: Person, bob: Person
) -> None:
    browser = await visit(alice)
    page = await browser.open("/console/projects")
    after = await browser.submit(page, "project-add", name="Shop")
    made, again = str(after.url), await browser.get(str(after.url))
    [done] = parse_qs(urlsplit(made).query)["done"]
    others = [
        await (await visit(bob)).open(f"/console/projects?done={done}"),
        await (await visit(alice)).open(f"/console/projects?done={done}"),
        await browser.open(f"/console/projects?done={done}+And+more"),
        await browser.open(f"/console/projects?done=bad.{done.partition('.')[2]}"),
        await browser.open("/console/projects?done=good.0.The+key+is+revoked."),
        await browser.open("/console/projects?done=project-add"),
        await browser.open("/console/projects?done=%C3%BC.%C3%BC.%F0%9F%98%80"),
    ]

    assert said(again) == ("good", "The project is created.")
    assert [each.text.count('role="status"') for each in others] == [0] * len(others)


async def test_the_rows_of_a_change_that_are_accepted_are_counted_beside_the_refused_ones(
    browser: Visitor, alice: Person
) -> None:
    rows = "domain,date,revenue\nharbour.com,2026-01-05,1.00\nnowhere.com,2026-01-05,1.00\n"
    async with alice.browser() as api:
        assert (await api.post("/v1/portfolio/domains", json={"domain": "harbour.com"})).is_success
    day = clock.now().date().isoformat()
    page = await browser.open("/console/portfolio/parking")
    done = await browser.submit(page, "parking-record", csv=rows.replace("2026-01-05", day))

    assert done.status_code == 422
    assert "1 row is accepted, and these are not" in done.text


ATTEMPT = {"status": None, "error": "timeout"}
CHARGE = {"state": "matched", "reason": "entry_limit"}
SUMMARY = {"created": 0, "updated": 0, "unchanged": 2}


@pytest.mark.parametrize(
    ("tell", "reply", "told"),
    [
        (notices.of_test, {"attempt": ATTEMPT}, ("bad", "no complete answer came in time")),
        (notices.of_retry, {"attempt": {"status": 302, "error": "http_status"}}, ("bad", "answered 302")),
        (notices.of_replay, {"count": 1, "more": False}, ("good", "1 delivery is sent again.")),
        (
            notices.of_replay,
            {"count": 10_000, "more": True},
            ("wait", "10,000 deliveries are sent again, and more"),
        ),
        (notices.of_ask, {"state": "approved"}, ("wait", "Nobody was asked")),
        (notices.of_ask, {"state": "required"}, ("good", "are asked")),
        (notices.of_approval, {"state": "required", "approvals": 2}, ("wait", "the approval of 2 people.")),
        (notices.of_policy, {"proposal": {}}, ("wait", "takes effect when")),
        (notices.of_domain, {"status": "pending", "livemode": False}, ("wait", "a sandbox needs no DNS record")),
        (notices.of_name, {"destinations": [{"verified": False}]}, ("wait", "1 mailbox gets no mail")),
        (notices.of_name, {"destinations": [{"verified": True}]}, ("good", "The name is changed.")),
        (notices.of_destination, {"sent": False, "email": "a@b.example"}, ("wait", "No message is sent")),
        (notices.of_email, {"sent": False}, ("wait", "No message is sent")),
        (notices.of_profile, {"pending_email": "a@b.example"}, ("wait", "a@b.example counts after its")),
        (notices.of_keys, {"items": []}, ("wait", "No key was active.")),
        (notices.of_keys, {"items": [{}, {}]}, ("good", "2 keys are revoked.")),
        (notices.of_read, {"marked": 0}, ("wait", "No notice was unread.")),
        (notices.of_parking, {"summary": SUMMARY}, ("wait", "0 rows are recorded, 2 known already.")),
        (notices.of_edit, {"summary": SUMMARY}, ("wait", "0 domains are changed.")),
        (notices.of_undo, {"undo": None, "state": "undoing"}, ("wait", "The undo has started.")),
        (
            notices.of_undo,
            {"undo": {"removed": 1, "restored": 2, "kept": 3}, "state": "undone"},
            ("wait", "in part: 1 domain removed, 2 restored, 3 kept."),
        ),
        (notices.of_connection, {"enabled": False, "verification": {}}, ("wait", "nothing is synced")),
        (notices.of_connection, {"enabled": True, "verification": None}, ("wait", "It has no API")),
        (notices.of_disconnection, {"disconnected": False}, ("wait", "there is no such connection")),
        (notices.of_charge, CHARGE, ("wait", "not booked: entry limit.")),
        (notices.of_split, {"parts": [{"state": "applied"}, CHARGE]}, ("wait", "Of its 2 parts, 1 could not")),
        (
            notices.of_charges,
            {"applied": 0, "still_unmatched": 1, "has_more": False},
            ("wait", "0 charges are booked. 1 charge needs a decision."),
        ),
    ],
)
def test_a_reply_is_told_as_what_it_says(
    tell: Callable[[dict[str, Any]], notices.Notice], reply: dict[str, Any], told: tuple[str, str]
) -> None:
    found = tell(reply)

    assert (found.kind, told[1] in found.text) == (told[0], True), found


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("pushed", "good"),
        ("unchanged", "good"),
        ("queued", "wait"),
        ("failed", "bad"),
        ("unsupported", "bad"),
        ("not_connected", "bad"),
    ],
)
def test_each_answer_of_a_registrar_is_told(state: str, kind: str) -> None:
    pushed = {"auto_renew": False, "provider": "porkbun", "error": "The registrar is busy.", "dashboard_url": None}
    row = notices.of_push("harbour.com", {**pushed, "state": state})

    assert (row.kind, bool(row.todo)) == (kind, kind != "good")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Then enable it and sync it: POST /v1/portfolio/registrars/sync.", "Then enable it and sync it."),
        ("Correct it first: GET /v1/portfolio/registrars shows why.", "Correct it first."),
        ("Renew harbour.com at Porkbun.", "Renew harbour.com at Porkbun."),
    ],
)
def test_a_sentence_for_people_names_no_request(text: str, shown: str) -> None:
    assert notices.for_people(text) == shown
