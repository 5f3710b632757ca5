"""An address alone opens an account: with the first code from its mailbox, and never before."""

import hashlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from urllib.parse import urlencode

import httpx
import pytest

from builders.app import Service
from builders.identity import sign_up
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox, SignInMessage
from tests.identity.test_login import LOGIN, REDEEM, by_code, other
from tests.identity.test_login_networks import at
from tests.identity.test_sign_in_form import BROWSER, fill_in, read_form

ACCOUNTS = "SELECT count(*) FROM identity_accounts WHERE email = %s AND sandbox_of IS NULL"
FLOOD = """
    INSERT INTO identity_sign_ins (id, address, requested_at, requested_from, opens_account)
    SELECT gen_random_uuid(), 'flood-' || number || '@example.net', %s, 'a flood', true
    FROM generate_series(1, %s) AS number
"""
BITS = sign_up.WORK_BITS
_networks = itertools.count(1)


@pytest.fixture
def client(service: Service) -> Client:
    """Return a client in a network of its own: the tests of a run share the counts."""
    return at(service, f"10.{next(_networks)}.0.7")


@pytest.fixture
def email() -> str:
    """Return an address that no account has."""
    return f"new-{ids.new().hex}@example.net"


async def ask(client: Client, postbox: Postbox, email: str) -> SignInMessage:
    """Ask for a code, and return the message that opens an account."""
    answer = await client.post(LOGIN, json={"email": email})
    assert answer.status_code == 200, answer.text
    return (await postbox.all_for(email))[-1]


async def count(conn: Conn, email: str) -> int:
    """Return how many accounts have the address."""
    [[found]] = await (await conn.execute(ACCOUNTS, [email])).fetchall()
    return int(found)


def prove(email: str, *, later: int = 0) -> str:
    """Compute a proof as the browser does."""
    return next(each for each in _texts(later) if _zeros(f"{each}:{email}") >= BITS)


def _texts(later: int = 0) -> Iterator[str]:
    return (f"{sign_up.work_period() + later}:{number}" for number in itertools.count())


def _zeros(text: str) -> int:
    return 256 - int.from_bytes(hashlib.sha256(text.encode()).digest(), "big").bit_length()


@pytest.fixture
async def busy(conn: Conn) -> AsyncIterator[None]:
    """Let so many addresses sign up that every other new one needs a proof of work."""
    await conn.execute(FLOOD, [clock.now(), sign_up.MAX_IN_ALL])
    yield
    await conn.execute("DELETE FROM identity_sign_ins WHERE requested_from = 'a flood'")


async def test_the_first_code_opens_the_account(client: Client, postbox: Postbox, conn: Conn, email: str) -> None:
    message = await ask(client, postbox, email)
    before = await count(conn, email)
    answer = await client.post(REDEEM, json=by_code(message))

    assert (before, await count(conn, email)) == (0, 1)
    account = answer.json()["account"]
    assert (account["email"], account["email_verified"]) == (email, True)
    assert (await client.get("/v1/me")).status_code == 200


async def test_the_link_opens_the_account_by_its_button(
    client: Client, postbox: Postbox, conn: Conn, email: str
) -> None:
    message = await ask(client, postbox, email)
    page = await client.get(message.link, headers={"Accept": ACCEPT})
    before = await count(conn, email)
    answer = await fill_in(client, page)

    assert (before, await count(conn, email)) == (0, 1)
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")


async def test_the_new_account_signs_in_with_its_next_code(client: Client, postbox: Postbox, email: str) -> None:
    first = await client.post(REDEEM, json=by_code(await ask(client, postbox, email)))
    await client.post(LOGIN, json={"email": email})
    again = await client.post(REDEEM, json=by_code(await postbox.newest_for(email)))

    assert again.json()["account"]["id"] == first.json()["account"]["id"]


async def test_nothing_that_was_prepared_outlives_the_first_confirmation(
    client: Client, postbox: Postbox, email: str
) -> None:
    older = await ask(client, postbox, email)
    newer = await ask(client, postbox, email)
    assert (await client.post(REDEEM, json=by_code(newer))).status_code == 200

    refused = [await client.post(REDEEM, json=each) for each in (by_code(older), {"token": older.token})]
    assert {each.status_code for each in refused} == {400}
    session = (await client.get("/v1/auth/session")).json()["session"]["id"]
    assert [each["id"] for each in (await client.get("/v1/auth/sessions")).json()["items"]] == [session]
    assert (await client.get("/v1/api-keys")).json()["items"] == []


@pytest.mark.parametrize("form", ["code", "token"])
async def test_a_message_opens_one_account(
    client: Client, postbox: Postbox, conn: Conn, email: str, form: str
) -> None:
    message = await ask(client, postbox, email)
    proof = by_code(message) if form == "code" else {"token": message.token}
    statuses = [(await client.post(REDEEM, json=proof)).status_code for _ in range(2)]

    assert statuses == [200, 400]
    assert await count(conn, email) == 1


async def test_a_wrong_or_late_code_opens_nothing(
    client: Client, postbox: Postbox, conn: Conn, email: str
) -> None:
    message = await ask(client, postbox, email)
    wrong = await client.post(REDEEM, json={"email": email, "code": other(message.code)})
    clock.move(timedelta(minutes=15))
    late = await client.post(REDEEM, json=by_code(message))

    assert (wrong.status_code, late.status_code, await count(conn, email)) == (400, 400, 0)


async def test_the_page_is_the_same_for_known_and_new_addresses(client: Client, alice: Person, email: str) -> None:
    page = await client.get(LOGIN, headers={"Accept": ACCEPT})
    known, new = [
        (await fill_in(client, page, email=each)).text.replace(each, "") for each in (alice.account.email, email)
    ]

    assert known == new


async def test_a_network_opens_five_new_addresses_in_an_hour(
    client: Client, alice: Person, postbox: Postbox
) -> None:
    emails = [f"new-{ids.new().hex}@example.net" for _ in range(sign_up.MAX_OF_NETWORK + 1)]
    answers = [await client.post(LOGIN, json={"email": each}) for each in emails]
    sent = [each for each in emails if await postbox.all_for(each)]
    again = await postbox.ask(client, alice.account.email)  # who has an account is not limited by it
    clock.move(sign_up.WITHIN + timedelta(seconds=1))
    later = await ask(client, postbox, emails[-1])

    assert {(each.status_code, each.text) for each in answers} == {(200, answers[0].text)}
    assert len(sent) == sign_up.MAX_OF_NETWORK
    assert again.to == alice.account.email
    assert later.to == emails[-1]


async def test_an_address_that_asks_again_counts_once(client: Client, postbox: Postbox, email: str) -> None:
    for _ in range(2):
        await ask(client, postbox, email)
    emails = [f"new-{ids.new().hex}@example.net" for _ in range(sign_up.MAX_OF_NETWORK - 1)]

    assert [(await ask(client, postbox, each)).to for each in emails] == emails


@pytest.mark.usefixtures("busy")
async def test_above_the_number_in_all_a_new_address_needs_a_proof(
    client: Client, postbox: Postbox, email: str
) -> None:
    asked = await _send(client, LOGIN, email=email)
    unproved = await postbox.all_for(email)
    proved = await _send(client, f"{LOGIN}/work", email=email, work=prove(email))
    message = (await postbox.all_for(email))[-1]

    assert unproved == []
    assert 'data-work="' in asked.text
    assert "data-work" not in proved.text
    assert (await client.post(REDEEM, json=by_code(message))).status_code == 200


@pytest.mark.usefixtures("busy")
async def test_who_has_an_account_needs_no_proof(client: Client, alice: Person, postbox: Postbox) -> None:
    message = await postbox.ask(client, alice.account.email)

    assert (await client.post(REDEEM, json=by_code(message))).status_code == 200


@pytest.mark.usefixtures("busy")
async def test_the_page_that_asks_for_a_proof_is_the_same_for_known_addresses(
    client: Client, alice: Person, email: str
) -> None:
    known, new = [
        (await _send(client, LOGIN, email=each)).text.replace(each, "") for each in (alice.account.email, email)
    ]

    assert known == new
    assert "script-src 'self'" in (await _send(client, LOGIN, email=email)).headers["content-security-policy"]


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("kind", ["none", "another address", "another period", "later period", "long", "not text"])
async def test_no_other_text_is_a_proof(client: Client, postbox: Postbox, email: str, kind: str) -> None:
    others = (each for each in _texts() if _zeros(f"{each}:x{email}") >= BITS > _zeros(f"{each}:{email}"))
    make: dict[str, Callable[[], str]] = {
        "none": lambda: "",
        "another address": lambda: next(others),
        "another period": lambda: prove(email, later=-2),
        "later period": lambda: prove(email, later=1),
        "long": lambda: f"{sign_up.work_period()}:{'0' * 100}",
        "not text": lambda: "\ufffd",
    }
    answer = await _send(client, f"{LOGIN}/work", email=email, work=make[kind]())

    assert 'role="alert"' in answer.text
    assert await postbox.all_for(email) == []


async def test_a_form_of_another_site_opens_nothing(client: Client, postbox: Postbox, email: str) -> None:
    form = urlencode({"email": email, "work": "1"})
    answer = await client.post(
        f"{LOGIN}/work", content=form, headers={**BROWSER, "Origin": "https://evil.example"}
    )

    assert answer.status_code == 403
    assert await postbox.all_for(email) == []


@pytest.mark.parametrize("email", ["", "nobody", '"><script>alert(1)</script>'])
async def test_an_address_that_is_none_is_refused_with_the_form(client: Client, email: str) -> None:
    answer = await _send(client, f"{LOGIN}/work", email=email, work="1:1")

    assert answer.status_code == 422
    assert "<script>" not in answer.text
    assert read_form(answer)[0] == LOGIN


async def test_a_closed_sign_up_mails_nothing_to_a_new_address(
    client: Client, postbox: Postbox, email: str, conn: Conn
) -> None:
    closed = postbox.settings.model_copy(update={"sign_up": False})
    await client.post(LOGIN, json={"email": email})

    assert await Postbox(postbox.database, closed).all_for(email) == []
    assert await count(conn, email) == 0


async def test_neither_code_nor_token_of_a_new_address_is_stored(
    client: Client, postbox: Postbox, conn: Conn, email: str
) -> None:
    message = await ask(client, postbox, email)
    query = "SELECT row_to_json(sign_in)::text FROM identity_sign_ins AS sign_in WHERE address = %s"
    rows = [row for (row,) in await (await conn.execute(query, [email])).fetchall()]

    assert rows
    assert not [row for row in rows if message.token in row or message.code.replace("-", "") in row]


async def _send(client: Client, path: str, **fields: str) -> httpx.Response:
    return await client.post(path, content=urlencode(fields), headers=BROWSER)
