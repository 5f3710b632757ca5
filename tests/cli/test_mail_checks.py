"""The checks of the mail server, against servers of the test in place of Postfix and its programs."""

import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import cast

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr

from builders.cli import mail_checks
from builders.domains import dkim_keys
from builders.domains.verification import Dns
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cli.conftest import Cli
from tests.domains.nameserver import serving

HOST = "mx1.builders.example"
GOOD = f"SRS0=AbCdEfGh=JM=example.net=builders-doctor@{HOST}"
KEY = "v=DKIM1; k=rsa; p=QUJD"


@contextmanager
def answering(*replies: str) -> Iterator[int]:
    """Run a server that sends one line for each that it reads; yield its port."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for reply in replies:
                self.wfile.write(f"{reply}\r\n".encode())
                self.rfile.readline()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield cast("tuple[str, int]", server.server_address)[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("reply", "ok", "said"),
    [
        ("550 5.1.1 User unknown", True, None),
        ("451 4.3.0 Temporary lookup failure", False, "BUILDERS_LOOKUP_LISTEN"),
    ],
)
def test_postfix_must_answer_with_the_look_up_server(reply: str, *, ok: bool, said: str | None) -> None:
    with answering(f"220 {HOST} ESMTP", "250 OK", "250 OK", reply, "221 Bye") as port:
        found = mail_checks.check_postfix(HOST, port=port)
    assert found.ok is ok
    assert (said or "") in (found.next_action or "")


@pytest.mark.parametrize(
    ("written", "back", "ok"),
    [
        (f"200 {GOOD}", f"200 {mail_checks.PROBE}", True),
        (f"200 {GOOD.replace('AbCdEfGh', 'AbCd')}", f"200 {mail_checks.PROBE}", False),
        (f"200 {GOOD.replace(HOST, 'localhost')}", f"200 {mail_checks.PROBE}", False),
        (f"200 {GOOD}", "500 not found", False),
    ],
)
def test_return_addresses_need_the_host_and_a_long_hash(written: str, back: str, *, ok: bool) -> None:
    with answering(written) as first, answering(back) as second:
        found = mail_checks.check_return_addresses(HOST, ports=(first, second))
    assert found.ok is ok
    assert (found.next_action is None) is ok


def _key() -> tuple[str, str]:
    """Return a private key, and its public key for a record."""
    key = generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem.decode(), dkim_keys.public_key_of(key)


@pytest.fixture
def dns_settings() -> Settings:
    """Return settings without a file."""
    return Settings(database_url=SecretStr("postgresql://localhost/none"))


def test_the_log_must_be_there_and_readable(tmp_path: Path) -> None:
    path = tmp_path / "mail.log"
    assert not mail_checks.check_mail_log(path).ok
    assert not mail_checks.check_mail_log(tmp_path).ok  # a folder cannot be read, also by root
    path.touch()
    assert mail_checks.check_mail_log(path).ok


async def test_the_host_needs_an_address_that_leads_back_and_spf(dns_settings: Settings) -> None:
    async with serving() as server:
        dns = Dns(dns_settings.model_copy(update={"dns_resolvers": (server.address,)}))
        said = [(await mail_checks.check_host(dns, HOST)).next_action]
        server.zone[HOST, "A"] = ["192.0.2.25"]
        said.append((await mail_checks.check_host(dns, HOST)).next_action)
        server.zone["25.2.0.192.in-addr.arpa", "PTR"] = [f"{HOST}."]
        server.txt(HOST, "v=spf1 a -all", "v=spf1 -all")
        said.append((await mail_checks.check_host(dns, HOST)).next_action)
        server.txt(HOST, "v=spf1 a -all")
        assert (await mail_checks.check_host(dns, HOST)).ok
    wanted = ("A record", "PTR record", "v=spf1 a -all")
    assert all(part in (each or "") for part, each in zip(wanted, said, strict=True)), said


async def test_the_key_of_the_host_must_be_there_and_in_dns(dns_settings: Settings, tmp_path: Path) -> None:
    async with serving() as server:
        dns = Dns(dns_settings.model_copy(update={"dns_resolvers": (server.address,)}))
        missing = await mail_checks.check_key(dns, HOST, "builders", folder=tmp_path)
        assert "rspamadm dkim_keygen" in (missing.next_action or "")
        private, public = _key()
        (tmp_path / f"{HOST}.builders.key").write_text(private)
        unset = await mail_checks.check_key(dns, HOST, "builders", folder=tmp_path)
        server.txt(f"builders._domainkey.{HOST}", KEY)
        other = await mail_checks.check_key(dns, HOST, "builders", folder=tmp_path)
        server.txt(f"builders._domainkey.{HOST}", f"v=DKIM1; k=rsa; p={public}")
        assert (await mail_checks.check_key(dns, HOST, "builders", folder=tmp_path)).ok
    assert ["DNS has no key" in unset.detail, "DNS has another key" in other.detail] == [True, True]
    assert private.splitlines()[1] not in str((missing, unset, other))


def test_domains_without_a_published_key_are_named(builders: Cli, account: str, conninfo: str) -> None:
    domain = f"aaa-{ids.new().hex}.example"
    builders("domains", "assign", domain, "--account", account, "--source", "leased")
    found = mail_checks.check_domain_keys(conninfo)
    assert "DNS lacks those of" in found.detail
    assert "builders domains records" in (found.next_action or "")


def test_without_a_mail_server_nothing_is_checked(dns_settings: Settings) -> None:
    assert list(mail_checks.run_checks(dns_settings)) == []
