import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import renderer
from builders.mail.sender import read_sender
from builders.mail.store import Claimed
from builders.mail.templates import EmailTemplate, SignInCode
from builders.mail.transports import FolderTransport, OutgoingMessage
from tests.cli.conftest import Cli
from tests.mail.make import LINK, RENEWALS, SIGN_IN

SENT = """
    INSERT INTO mail_messages (account_id, id, created_at, template, category, recipient, status, expires_at)
    SELECT id, %(id)s, %(now)s, %(template)s, 'transactional', 'a***@example.net', 'sent', NULL
    FROM identity_accounts WHERE email = %(email)s
"""


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """Return a data folder with three messages in the development outbox."""
    data = tmp_path / "data"
    for minute, (to, template) in enumerate(
        [("ada@example.net", SIGN_IN), ("bob@example.net", RENEWALS), ("bob@example.net", SIGN_IN)]
    ):
        put(data, to, template, minute)
    return data


def put(data: Path, to: str, template: EmailTemplate, minute: int) -> None:
    """Write an email into the development outbox."""
    at = datetime(2026, 11, 20, 10, minute, tzinfo=UTC)
    claimed = Claimed(
        template=template.name, content=b"", attempts=1, header_id="<1@x.example>", created_at=at, expires_at=None
    )
    content = renderer.pack(
        renderer.render(template), to=to, sender=read_sender(Settings()), claimed=claimed, unsubscribe=None
    )
    message = OutgoingMessage(
        id=ids.new(), template=template.name, created_at=at, sender="x@y", recipient=to, content=content
    )
    asyncio.run(FolderTransport(data).send(message))


def test_the_last_message_is_shown(command: Cli, outbox: Path) -> None:
    del outbox
    shown = command("mail", "show").stdout
    assert shown.startswith(
        "From: Builders <no-reply@localhost>\nTo: bob@example.net\nSubject: Your sign-in code is "
    )
    assert "\nDate: Fri, 20 Nov 2026 10:02:00 +0000\n\n" in shown
    assert f"\n{LINK}\n" in shown
    assert command("mail", "show", "last").stdout == shown


def test_the_last_message_to_an_address_is_shown(command: Cli, outbox: Path) -> None:
    del outbox
    shown = command("mail", "show", "--to", "Ada@example.net").stdout
    assert "To: ada@example.net\n" in shown


def test_a_message_is_shown_by_its_name(command: Cli, outbox: Path) -> None:
    name = sorted(each.name for each in (outbox / "outbox").iterdir())[1]
    for given in (name, name.removesuffix(".eml")):
        message = json.loads(command("mail", "show", given, "--json").stdout)
        assert (message["name"], message["to"]) == (name, "bob@example.net")
        assert "harbour.example" in message["text"]
        assert "html" not in message


def test_the_html_part_is_shown_for_a_browser(command: Cli, outbox: Path) -> None:
    del outbox
    assert command("mail", "show", "--html").stdout.lstrip().startswith("<!doctype html>")
    assert "<!doctype html>" in json.loads(command("mail", "show", "--html", "--json").stdout)["html"]


def test_control_characters_are_not_printed(command: Cli, outbox: Path) -> None:
    put(outbox, "eve@example.net", SignInCode(code="1\x1b[31m2", link=LINK, minutes=1), 9)
    assert "\x1b" not in command("mail", "show").stdout


@pytest.mark.parametrize("words", [[], ["none.eml"], ["--to", "nobody@example.net"], ["../secret_keys"]])
def test_a_missing_message_is_refused(command: Cli, tmp_path: Path, words: list[str]) -> None:
    if words:
        put(tmp_path / "data", "ada@example.net", SIGN_IN, 1)
    result = command("mail", "show", *words)
    such = "no message to nobody@example.net" if "--to" in words else "no such message"
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {tmp_path / 'data' / 'outbox'} has {such}. ")


def test_sent_messages_are_not_stored(command: Cli, plain_environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain_environment.setenv("BUILDERS_SMTP_URL", "smtp://mx.example")
    plain_environment.setenv("BUILDERS_MAIL_FROM", "Builders <mail@builders.example>")
    assert "Email is sent by BUILDERS_SMTP_URL" in command("mail", "show").stderr
    put(tmp_path / "data", "ada@example.net", SIGN_IN, 1)
    shown = command("mail", "show")
    assert (shown.exit_code, shown.stdout.startswith("From: ")) == (0, True)
    assert "stored before that was set" in shown.stderr


def test_a_list_is_aligned(builders: Cli, account: str, conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for template in ("sign_in", "verify_destination"):
            conn.execute(SENT, {"email": account, "id": ids.new(), "template": template, "now": clock.now()})
    head, *lines = builders("mail", "list", "--account", account).stdout.splitlines()
    assert head.split()[-3:] == ["ATTEMPTS", "CODE", "ERROR"]
    assert sorted(line.split()[3] for line in lines) == ["sign_in", "verify_destination"]
    assert len({line.index("a***@") for line in lines}) == 1


def test_messages_of_an_account_are_listed(builders: Cli, account: str) -> None:
    assert builders("mail", "list", "--account", account).stdout == "No messages.\n"
    assert json.loads(builders("mail", "list", "--account", account, "--json").stdout) == []
    assert builders("mail", "list", "--status", "bounced", "--limit", "5").exit_code == 0
    assert builders("mail", "list", "--status", "lost").exit_code == 2
    assert builders("mail", "list", "--account", "nobody@example.net").exit_code == 1


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("BUILDERS_MAIL_FROM", "nobody", "write an address"),
        ("BUILDERS_SMTP_URL", "smtp://u:s3cret@mx.example", "requires a sender"),
    ],
)
def test_invalid_settings_are_refused(
    command: Cli, plain_environment: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    plain_environment.setenv(variable, value)
    result = command("mail", "show")
    assert result.exit_code == os.EX_CONFIG
    assert said in result.stderr
    assert "BUILDERS_MAIL_FROM: " in result.stderr
    assert "s3cret" not in result.stderr
