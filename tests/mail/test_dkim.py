"""DKIM signatures."""

import base64
from base64 import b64decode
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import dkim  # type: ignore[import-untyped] # it has no types
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from dkim.canonicalization import Relaxed  # type: ignore[import-untyped] # as above
from hypothesis import given, settings as limits, strategies as st
from pydantic import SecretStr

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail.sender import Signer, digest_body, read_sender
from tests.mail.conftest import Send
from tests.mail.make import RENEWALS
from tests.mail.smtp_server import MailServer
from tests.random_cases import cases

SELECTOR = "mail2026"


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    """Return an RSA key."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: PrivateKeyTypes, form: PrivateFormat = PrivateFormat.PKCS8) -> str:
    """Return the private key as PEM."""
    return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()


def published(key: rsa.RSAPrivateKey) -> bytes:
    """Return the DNS record of the key."""
    shown = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b"v=DKIM1; k=rsa; p=" + base64.b64encode(shown)


def is_valid(raw: bytes, key: rsa.RSAPrivateKey, domain: str = "builders.example") -> bool:
    """Return whether the signature of a message is valid."""

    def ask(name: bytes, timeout: int = 5) -> bytes:
        del timeout
        return published(key) if name == f"{SELECTOR}._domainkey.{domain}.".encode() else b""

    result: bool = dkim.verify(raw, dnsfunc=ask)
    return result


@pytest.fixture
def signing(smtp_settings: Settings, key: rsa.RSAPrivateKey) -> Settings:
    """Return settings with a DKIM key."""
    return smtp_settings.model_copy(update={"dkim_selector": SELECTOR, "dkim_key": SecretStr(pem(key))})


async def test_a_changed_message_has_no_valid_signature(
    send: Send, database: Database, signing: Settings, smtp: MailServer, key: rsa.RSAPrivateKey
) -> None:
    await send(RENEWALS)
    await queue.run_pending(database, signing)

    raw = smtp.received[0].raw
    assert is_valid(raw, key)
    assert not is_valid(raw.replace(b"harbour.example", b"arbours.example"), key)
    assert not is_valid(b"From: Mallory <m@evil.example>\r\n" + raw, key)
    for header in (b"Subject", b"List-Unsubscribe", b"List-Unsubscribe-Post", b"To", b"Date", b"Message-ID"):
        assert not is_valid(raw.replace(b"\r\n" + header + b": ", b"\r\n" + header + b": x"), key), header
    assert not is_valid(raw, rsa.generate_private_key(public_exponent=65537, key_size=2048))


async def test_the_signing_domain_is_a_setting(
    send: Send, database: Database, signing: Settings, smtp: MailServer, key: rsa.RSAPrivateKey
) -> None:
    await send()
    await queue.run_pending(database, signing.model_copy(update={"dkim_domain": "mail.builders.example"}))

    assert is_valid(smtp.received[0].raw, key, "mail.builders.example")


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
def test_the_key_is_a_text_or_a_file(
    signing: Settings, key: rsa.RSAPrivateKey, tmp_path: Path, form: PrivateFormat
) -> None:
    text = pem(key, form)
    (tmp_path / "dkim.pem").write_text(text)
    for written in (text, text.replace("\n", "\\n"), str(tmp_path / "dkim.pem")):
        sender = read_sender(signing.model_copy(update={"dkim_key": SecretStr(written)}))
        assert sender.signer is not None
        assert is_valid(sender.signer.sign(b"From: a@builders.example\r\n\r\nHello\r\n", at=clock.now()), key)
        assert "PRIVATE" not in repr(sender)


def test_an_invalid_key_is_refused(signing: Settings, tmp_path: Path) -> None:
    curve = pem(ec.generate_private_key(ec.SECP256R1()))
    for written in (
        curve,
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        str(tmp_path / "none.pem"),
    ):
        with pytest.raises(ValueError, match="BUILDERS_DKIM_KEY") as raised:
            read_sender(signing.model_copy(update={"dkim_key": SecretStr(written)}))
        assert "AAAA" not in str(raised.value)


def test_a_key_requires_a_selector(signing: Settings) -> None:
    with pytest.raises(ValueError, match="BUILDERS_DKIM_SELECTOR"):
        read_sender(signing.model_copy(update={"dkim_selector": None}))


@pytest.fixture(scope="module")
def signer(key: rsa.RSAPrivateKey) -> Signer:
    """Return a signer, once per module, because parsing the key is slow."""
    return Signer(selector=SELECTOR, domain="builders.example", pem=pem(key))


@limits(deadline=None)  # other tests share the processor
@given(
    st.lists(st.text("ab \t\r\n.ä", max_size=40).map(str.encode), max_size=6).map(b"\r\n".join),
    st.text("aB \t", max_size=40),
)
def test_any_body_and_header_has_a_valid_signature(
    key: rsa.RSAPrivateKey, signer: Signer, body: bytes, subject: str
) -> None:
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")
    head = f"From: a@builders.example\r\nSubject:{subject}\r\n\tfolded \r\nX-Other: x\r\n\r\n".encode()
    raw = signer.sign(head + lines + b"\r\n", at=clock.now())
    assert is_valid(raw, key)
    assert not is_valid(raw.replace(b"folded", b"fOlded"), key)
    assert all(len(line) <= 78 for line in raw.partition(b"\r\nFrom:")[0].split(b"\r\n"))


def test_an_ed25519_key_signs_the_digest() -> None:
    # dkimpy verifies Ed25519 only with PyNaCl, so the test verifies by RFC 8463, 3.
    key = ed25519.Ed25519PrivateKey.generate()
    signer = Signer(selector=SELECTOR, domain="builders.example", pem=pem(key))
    raw = signer.sign(b"From: a@builders.example\r\n\r\nHello\r\n", at=datetime(2026, 11, 20, tzinfo=UTC))
    head = raw.partition(b"\r\nFrom:")[0].replace(b"\r\n", b"").replace(b"\t", b" ")
    unsigned, _, signature = head.rpartition(b" b=")
    covered = b"from:a@builders.example\r\n" + unsigned.replace(b"DKIM-Signature:", b"dkim-signature:").replace(
        b": v=1", b":v=1"
    )
    assert b"a=ed25519-sha256" in unsigned
    assert b"t=1795132800" in unsigned
    key.public_key().verify(b64decode(signature), sha256(covered + b" b=").digest())


@cases(200)
@given(body=st.text("ab \t\n", max_size=40), piece=st.integers(1, 9))
def test_the_digest_of_pieces_is_that_of_the_whole_body(body: str, piece: int) -> None:
    sent = body.replace("\n", "\r\n").encode()
    # dkimpy removes blank lines at the end only if they are empty.
    whole = sent.rstrip(b"\r\n\t ") + b"\r\n"
    expected = b"" if whole == b"\r\n" else Relaxed.canonicalize_body(whole)

    assert digest_body(sent, piece=piece) == sha256(expected).digest()
