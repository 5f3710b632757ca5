"""A login does not reveal whether an address has an account, and stores no code in clear text."""

from io import StringIO

import pytest

from builders.kit.db.connections import Conn
from builders.kit.http import access_log
from builders.kit.process import log
from builders.kit.values import ids
from tests import log_lines
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox
from tests.wire import sent_texts
from tests.worker import emails_to

LOGIN = "/v1/auth/login"
REDEEM = "/v1/auth/login/redeem"

ROWS = "SELECT row_to_json(sign_in)::text FROM identity_sign_ins AS sign_in WHERE address = %s"
STATES = """
    SELECT made_at IS NULL, ended_at IS NULL, tries, code_hash IS NULL, token_hash IS NULL
    FROM identity_sign_ins WHERE address = %s ORDER BY id
"""


@pytest.fixture
def nobody() -> str:
    """Return an address that no account has and no other test uses."""
    return f"nobody-{ids.new().hex}@example.net"


async def test_a_request_for_a_code_is_the_same_without_an_account(
    anyone: Client, alice: Person, nobody: str
) -> None:
    said, done = [], []
    for address in (alice.account.email, nobody):
        with sent_texts() as sent:
            answer = await anyone.post(LOGIN, json={"email": address})
        headers = {name for name in answer.headers if not name.startswith("ratelimit")}
        said.append((answer.status_code, answer.text, headers))
        done.append(sent)

    assert said[0] == said[1]
    assert done[0] == done[1]
    assert len(done[0]) >= 2
    assert not any("identity_accounts" in each for each in done[0])  # nobody is looked up at all


async def test_a_wrong_code_is_the_same_without_an_account(
    anyone: Client,
    alice: Person,
    nobody: str,
    postbox: Postbox,
    conn: Conn,
) -> None:
    said, done, states = [], [], []
    for address in (alice.account.email, nobody):
        for _ in range(2):
            await anyone.post(LOGIN, json={"email": address})
            await postbox.all_for(address)
        with sent_texts() as sent:
            answers = [await anyone.post(REDEEM, json={"email": address, "code": "AAAAAAAA"}) for _ in range(6)]
        said.append([{**each.json(), "request_id": None} for each in answers])
        done.append(sent)
        states.append(sorted(await (await conn.execute(STATES, [address])).fetchall()))

    assert said[0] == said[1]
    assert done[0] == done[1]
    assert states[0] == states[1]  # rows too: a try that writes takes longer than one that finds nothing


async def test_neither_code_nor_token_is_stored(
    anyone: Client, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    rows = [row for (row,) in await (await conn.execute(ROWS, [message.to])).fetchall()]

    assert rows
    for row in rows:
        assert message.token not in row
        assert message.code not in row
        assert message.code.replace("-", "") not in row


async def test_neither_code_nor_token_nor_grant_is_logged(anyone: Client, alice: Person, postbox: Postbox) -> None:
    grant = f"svc_grant_{'a' * 12}_{'b' * 38}"
    stream = StringIO()
    log.configure(level="debug", stream=stream)
    try:
        message = await postbox.ask(anyone, alice.account.email)
        await anyone.get(message.link)
        await anyone.post(REDEEM, json={"email": message.to, "code": message.code})
        await anyone.post(f"{LOGIN}/page", data={"token": message.token})
        await anyone.post("/v1/auth/login-as", json={"grant": grant})
        log.get_logger().info("seen", text=f"it was {grant}")
        access_log.flush()
    finally:
        log_lines.write_errors_only()

    written = stream.getvalue()
    assert written.count('"path":"/v1/auth/login') >= 5
    for secret in (message.token, message.code, message.code.replace("-", ""), "b" * 38):
        assert secret not in written


async def test_the_mail_has_no_tracked_link(anyone: Client, alice: Person, postbox: Postbox) -> None:
    await anyone.post(LOGIN, json={"email": alice.account.email})
    mailed = await postbox.newest_for(alice.account.email)
    [whole] = emails_to(alice.account.email, postbox.settings.data_dir, name="*sign_in*.eml")

    texts = [str(part.get_content()) for part in whole.walk() if part.get_content_maintype() == "text"]
    assert len(texts) == len(("plain", "html"))
    assert all(mailed.code in each for each in texts)
    assert [each for each in texts if "/v1/t/" in each] == []
