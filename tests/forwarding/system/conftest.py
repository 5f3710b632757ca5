"""The real chain, as an operator configures it, with the look-up server of the test."""

import asyncio
import base64
import os
import re
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from builders.app import Service
from builders.forwarding.filter_server import Handler
from builders.forwarding.mail_filter import MailFilter
from builders.forwarding.mail_server import RETURN
from builders.forwarding.recipients import Recipients
from tests.forwarding.conftest import OPERATOR, serving
from tests.forwarding.lmtp import OWN
from tests.forwarding.system.chain import (
    AUTHOR,
    AUTHOR_IP,
    HOST,
    HOST_IP,
    LIST,
    NAME_SERVER,
    SELECTOR,
    SINK_IP,
    Names,
    Sink,
)

SOCKET = Path("/var/spool/postfix/builders/lookup")
FILTER_SOCKET = Path("/var/spool/postfix/builders/filter")
LOG = Path("/var/log/postfix.log")
TLS_CHAIN, TLS_CERTIFICATE = Path("/etc/postfix/mx1.pem"), Path("/etc/postfix/mx1.crt")
START_S = 60.0
_QUOTED = re.compile(r'"([^"]*)"')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: "system/test_page" not in item.nodeid)  # on the machine that nobody configured yet
    for item in items:
        if "forwarding/system" in item.nodeid:
            item.add_marker(pytest.mark.system)
            item.add_marker(
                pytest.mark.skipif("BUILDERS_MAIL_CHAIN" not in os.environ, reason="tests/forwarding/system/check")
            )


async def run(*command: str | Path, within_s: float = START_S, **environment: str) -> str:
    """Return the output of a command, which succeeds. A daemon that it starts may keep the output open."""
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        async with asyncio.timeout(within_s):
            await process.wait()
        output.seek(0)
        text = output.read().decode()
    assert process.returncode == 0, text
    return text


async def restart() -> None:
    """Start Postfix with its configuration: after a reload, processes may still answer by the former one."""
    await run("postfix", "stop")
    await run("postfix", "start")


async def answering(port: int, host: str = "127.0.0.1") -> None:
    """Wait until a daemon accepts connections."""
    async with asyncio.timeout(START_S):
        while True:  # a daemon starts, and tells nobody
            with suppress(OSError):
                _, writer = await asyncio.open_connection(host, port)
                writer.close()
                return
            await asyncio.sleep(0.1)


@pytest.fixture(scope="session")
def signing_key() -> RSAPrivateKey:
    """Return the key of the author's domain."""
    return generate_private_key(65537, 2048)


@pytest.fixture(scope="session")
def author_key(signing_key: RSAPrivateKey) -> bytes:
    """Return the key that signs the author's mail, as PEM."""
    return signing_key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


@pytest.fixture(scope="session")
async def names(signing_key: RSAPrivateKey) -> AsyncIterator[Names]:
    """Run the name server."""
    transport, found = await asyncio.get_running_loop().create_datagram_endpoint(
        Names, local_addr=(NAME_SERVER, 53)
    )
    shown = signing_key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    found.texts |= {
        f"{AUTHOR}.": f"v=spf1 ip4:{AUTHOR_IP} -all",
        f"_dmarc.{AUTHOR}.": "v=DMARC1; p=reject",
        f"{SELECTOR}._domainkey.{AUTHOR}.": f"v=DKIM1; k=rsa; p={base64.b64encode(shown).decode()}",
        f"{LIST}.": f"v=spf1 ip4:{AUTHOR_IP} -all",
        f"{HOST}.": f"v=spf1 ip4:{HOST_IP} -all",
    }
    yield found
    transport.close()


@pytest.fixture(scope="session")
async def chain(names: Names, recipients: Recipients, service: Service) -> AsyncIterator[None]:
    """Run the look-up server, the mail filter, Postfix, postsrsd and rspamd."""
    await run("mkdir", "-p", SOCKET.parent)
    await run(
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}"),
        *("-addext", f"subjectAltName=DNS:{HOST}", "-keyout", TLS_CHAIN, "-out", TLS_CERTIFICATE),
    )
    await run("sh", "-c", f"cat {TLS_CERTIFICATE} >>{TLS_CHAIN}")
    await run(
        *(sys.executable, "-P", "-m", "builders", "postfix", "config", "--tls-chain", TLS_CHAIN),
        BUILDERS_LOOKUP_LISTEN=f"unix:{SOCKET}",
        BUILDERS_FILTER_LISTEN=f"unix:{FILTER_SOCKET}",
        BUILDERS_MAIL_HOSTS=HOST,
        BUILDERS_POSTMASTER=OPERATOR,
    )
    # Where the test reads what happened; each server of the test has its own address.
    await run("postconf", f"maillog_file={LOG}", f"inet_interfaces={HOST_IP}", f"smtp_bind_address={HOST_IP}")
    key = Path(f"/var/lib/rspamd/dkim/{HOST}.builders.key")
    await run("mkdir", "-p", key.parent)
    shown = await run("rspamadm", "dkim_keygen", "-b", "2048", "-d", HOST, "-s", "builders", "-k", key)
    await run("chown", "-R", "_rspamd:", key.parent)
    names.texts[f"builders._domainkey.{HOST}."] = "".join(_QUOTED.findall(shown))
    await run("/etc/init.d/postsrsd", "start")
    await run("mkdir", "-p", "/run/rspamd")
    await run("rspamadm", "configtest")
    await run("rspamd", "-u", "_rspamd", "-g", "_rspamd")
    await run("postfix", "start")
    async with serving(recipients, SOCKET):
        state = service.api.state
        handler = Handler(MailFilter(state.database, state.keyring, host=HOST, own=OWN, returns_to=RETURN))
        server = await asyncio.get_running_loop().create_unix_server(handler.protocol, FILTER_SOCKET)
        await run("chmod", "666", SOCKET, FILTER_SOCKET)
        for port in (10001, 10002, 11332):
            await answering(port)
        await answering(25, HOST_IP)
        yield
        server.close()
    await run("postfix", "stop")


@pytest.fixture
async def sink(chain: None) -> AsyncIterator[Sink]:
    """Run the servers of the destinations; nothing may remain in them."""
    del chain
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TLS_CHAIN)
    found = Sink(tls=context)
    server = await asyncio.get_running_loop().create_server(found.server, SINK_IP, 25)
    yield found
    server.close()
    assert found.received.empty(), found.received.get_nowait()
