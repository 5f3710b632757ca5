"""Whether a name refuses mail of a sender, asked as a mail server does."""

import pytest
from hypothesis import given, strategies as st

from builders.aliases.senders import list_entries, normalize_sender
from builders.app import Service
from builders.forwarding import policy, server
from builders.forwarding.recipients import Recipients
from builders.forwarding.server import LookupServer, netstring
from builders.kit.db.connections import Conn, Database
from builders.kit.process import metrics
from builders.kit.process.settings import Settings
from tests.aliases.make import Owner
from tests.cast import Person
from tests.forwarding.make import set_catch_all
from tests.forwarding.postfix import MailServer
from tests.plans.make import alias, apply, suspend_aliases

BLOCKED = ("eve@author.example", "spam.example", "bücher.example")
REQUEST = b"request=smtpd_access_policy\nprotocol_state=RCPT\n"


@pytest.fixture
async def name(alice: Person, shared: str) -> str:
    """Return a name that blocks senders."""
    await apply(alice, alias(f"ada.lovelace@{shared}", alice.account.email, key="ada", block=BLOCKED))
    return f"ada.lovelace@{shared}"


async def test_a_blocked_sender_is_refused(lookups: MailServer, name: str) -> None:
    for sender in (
        *("eve@author.example", "EVE@Author.Example", "eve@author.example.", "eve@author.example"),
        *("any@spam.example", "any@a.b.spam.example", "a b@spam.example", "a@b@spam.example"),
        *("\u2028@spam.example", "x@bücher.example", "x@xn--bcher-kva.example", "x@BÜCHER.example"),
    ):
        assert await lookups.decide(recipient=name, sender=sender) == policy.REFUSE, sender


async def test_another_sender_and_a_bounce_pass(lookups: MailServer, name: str) -> None:
    for sender in (
        *("", "<>", "MAILER-DAEMON", "@spam.example", "eve@", "ada@author.example", "eve+x@author.example"),
        *("any@notspam.example", "any@example", "eve@mail.author.example", "a@b.c" * 300),
    ):
        assert await lookups.decide(recipient=name, sender=sender) == policy.ACCEPT, sender


async def test_each_spelling_of_the_name_refuses(lookups: MailServer, name: str) -> None:
    local_part, _, domain = name.partition("@")
    for spelling in (local_part.replace(".", ""), f"{local_part.upper()}+shop", f"{local_part}+"):
        assert await lookups.decide(recipient=f"{spelling}@{domain}", sender="a@spam.example") == policy.REFUSE


async def test_a_list_is_that_of_its_name_alone(bob: Person, lookups: MailServer, name: str, shared: str) -> None:
    await apply(bob, alias(f"bob@{shared}", bob.account.email, block=["other.example"]))
    sender = "any@spam.example"
    for each in (f"bob@{shared}", f"nobody@{shared}", f"postmaster@{shared}", "ada@elsewhere.example", "", "ada"):
        assert await lookups.decide(recipient=each, sender=sender) == policy.ACCEPT
    assert await lookups.decide(recipient=name, sender="any@other.example") == policy.ACCEPT


async def test_a_name_in_a_sandbox_and_a_catch_all_refuse_nobody(
    alice: Person, service: Service, database: Database, lookups: MailServer, domain: str, shared: str
) -> None:
    await set_catch_all(alice, service, domain, alice.account.email)
    await Owner.of_sandbox(database, alice).claim_one("ada", shared, alice.account.email, block=["spam.example"])
    for each in (f"any@{domain}", f"ada@{shared}"):
        assert await lookups.decide(recipient=each, sender="a@spam.example") == policy.ACCEPT


async def test_without_the_database_the_mail_server_tries_again_later(settings: Settings) -> None:
    away = Database("host=127.0.0.1 port=1", settings.model_copy(update={"pool_timeout_s": 0.05}))
    await away.open()
    asked = LookupServer(Recipients(away, operator=None))
    found = [
        await asked.decide(REQUEST + f"sender={each}\nrecipient=ada@harbour.example\n\n".encode())
        for each in ("a@spam.example", "")
    ]
    await away.close()
    assert found == [policy.TRY_LATER, policy.ACCEPT]
    assert policy.TRY_LATER.startswith("451 ")


async def test_both_protocols_share_a_connection_and_refusals_are_counted(lookups: MailServer, name: str) -> None:
    counted = {"map": "policy", "reply": "550"}
    before = metrics.REGISTRY.get_sample_value("builders_lookups_total", counted) or 0
    asked = REQUEST + f"recipient={name}\nsender=a@spam.example\n\n".encode()
    lookups.writer.write(netstring("domain elsewhere.example") + asked + netstring("domain elsewhere.example"))
    assert await lookups.reply() == "NOTFOUND "
    assert await lookups.reader.readuntil(b"\n\n") == f"action={policy.REFUSE}\n\n".encode()
    assert await lookups.reply() == "NOTFOUND "
    assert metrics.REGISTRY.get_sample_value("builders_lookups_total", counted) == before + 1


@pytest.mark.parametrize(
    "sent",
    [
        b"sender=a@spam.example\n\n",
        b"request=other\nsender=a@spam.example\n\n",
        b"r\n\n",
        REQUEST + b"helo_name=" + b"a" * server.MAX_REQUEST + b"\n\n",
        b"r" * (server.MAX_REQUEST + 3),
        b"\n\n",
    ],
)
async def test_what_is_no_request_ends_the_connection(lookups: MailServer, sent: bytes) -> None:
    assert await lookups.ends(sent)


@given(
    sender=st.binary(max_size=300)
    | st.builds(lambda text: text.encode() + b"@a.spam.example", st.text(max_size=80))
)
def test_any_bytes_are_a_sender(sender: bytes) -> None:
    attributes = policy.read_attributes(REQUEST + b"sender=" + sender + b"\n\n")
    assert attributes is not None
    for entry in list_entries(attributes.get("sender", "")):
        assert " " not in entry
        assert "\0" not in entry


@given(st.from_regex(r"[^@\s]{1,20}@([A-Za-zÄ-ü0-9]{1,8}\.){1,3}example", fullmatch=True))
def test_an_entry_blocks_the_text_that_it_was_made_of(text: str) -> None:
    try:
        entry = normalize_sender(text)
    except ValueError:
        return
    assert entry in list_entries(text)
    assert entry in list_entries(text.upper()) or not text.isascii()


async def test_a_name_that_is_not_active_is_the_business_of_the_recipient_map(
    alice: Person, lookups: MailServer, name: str, conn: Conn
) -> None:
    await suspend_aliases(conn, alice, name)
    assert (await lookups.ask("recipient", name)).startswith("OK 550")
    assert await lookups.decide(recipient=name, sender="a@spam.example") == policy.REFUSE
