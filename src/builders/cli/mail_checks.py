"""The checks of `builders doctor` of the mail server: Postfix, return addresses (SRS), signing and DNS."""

import asyncio
import re
import smtplib
import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from builders.aliases import lookups
from builders.cli.doctor import Finding
from builders.domains import dkim_keys, txt_records
from builders.domains.verification import Dns
from builders.forwarding import mail_server
from builders.kit.process.settings import Settings

TIMEOUT_S = 5.0
SMTP_PORT, MILTER_PORT, SRS_PORTS = 25, 11332, (10001, 10002)  # deploy/etc
KEYS = Path("/var/lib/rspamd/dkim")
PROBE = "builders-doctor@example.net"
MAX_LISTED = 3  # domains
UNKNOWN = 550
FOUND = "200"  # tcp_table(5)
_REWRITTEN = re.compile(r"SRS0=[^=]{8,}=[^=]+=example\.net=builders-doctor@(.+)")


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Yield a finding for each part of the mail server; none without its settings."""
    host = mail_server.find_host(settings)
    if settings.lookup_listen is None or settings.filter_listen is None or host is None:
        return
    yield check_postfix(host)
    yield check_return_addresses(host)
    yield check_filter(host)
    if settings.mail_log is not None:
        yield check_mail_log(settings.mail_log)
    yield from asyncio.run(_check_dns(settings, host))


def check_postfix(host: str, *, port: int = SMTP_PORT) -> Finding:
    """Check that Postfix refuses an unknown recipient: for that it asks the look-up server."""
    check, code, reply = "postfix", 0, "No response."
    for address in ("127.0.0.1", host):  # it can listen at the public address alone
        try:
            with smtplib.SMTP(address, port, timeout=TIMEOUT_S) as client:
                client.ehlo()
                client.mail("")
                code, text = client.rcpt(f"builders-doctor@{host}")
            reply = text.decode(errors="replace")
            break
        except (OSError, smtplib.SMTPException) as error:
            reply = f"No response: {error}."
    if code == UNKNOWN:
        return Finding(check=check, ok=True, detail="It answers, and asks the look-up server.")
    if not code:
        action = "systemctl restart postfix; then read its log: journalctl -u 'postfix*'."
        return Finding(check=check, ok=False, detail=reply, next_action=action)
    action = (
        "Run `builders serve`, write the files again (builders postfix config), and let Postfix' user reach "
        "BUILDERS_LOOKUP_LISTEN; then read the log: journalctl -u 'postfix*'."
    )
    return Finding(check=check, ok=False, detail=f"It answers {code} {reply}", next_action=action)


def check_return_addresses(host: str, *, ports: tuple[int, int] = SRS_PORTS) -> Finding:
    """Check that postsrsd rewrites a return address with a hash of 40 bits, and back."""
    check = "return addresses"
    action = "Write its file again (builders postfix config), then systemctl restart postsrsd."
    try:
        written = _ask_table(ports[0], PROBE)
        back = _ask_table(ports[1], written)
    except OSError as error:
        return Finding(check=check, ok=False, detail=f"postsrsd does not respond: {error}.", next_action=action)
    found = _REWRITTEN.fullmatch(written)
    if found is None or found[1] != host or back != PROBE:
        detail = f"postsrsd does not write return addresses of {host} with a hash of 8 characters."
        return Finding(check=check, ok=False, detail=detail, next_action=action)
    return Finding(check=check, ok=True, detail=f"postsrsd writes those of {host}.")


def _ask_table(port: int, key: str) -> str:
    """Return the value of a key (tcp_table(5)); empty without one."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as connection:
        connection.sendall(f"get {key}\n".encode())
        with connection.makefile("r", encoding="utf-8", errors="replace") as replies:
            code, _, value = replies.readline(1024).strip().partition(" ")
    return value if code == FOUND else ""


def check_filter(host: str, *, port: int = MILTER_PORT) -> Finding:
    """Check that rspamd accepts connections of Postfix."""
    check = "rspamd"
    try:
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S).close()
    except OSError as error:
        action = "systemctl restart rspamd; if that fails: rspamadm configtest."
        return Finding(check=check, ok=False, detail=f"It does not respond: {error}.", next_action=action)
    return Finding(check=check, ok=True, detail=f"It responds; it seals the mail of {host}.")


def check_mail_log(path: Path) -> Finding:
    """Check that the log exists, and that this user can read it: Postfix makes a new one for root only."""
    check = "mail log"
    try:
        path.open("rb").close()
    except FileNotFoundError:
        action = f"install -o root -g builders -m 0640 /dev/null {path}; then postfix reload."
        return Finding(check=check, ok=False, detail=f"{path} is missing.", next_action=action)
    except OSError as error:
        action = f"chgrp builders {path}; chmod 0640 {path}; and `create 0640 root builders` in its rotation."
        return Finding(
            check=check, ok=False, detail=f"{path} cannot be read: {error.strerror}.", next_action=action
        )
    return Finding(check=check, ok=True, detail=f"The service counts the mail of names from {path}.")


async def _check_dns(settings: Settings, host: str) -> list[Finding]:
    dns = Dns(settings)
    selector = settings.dkim_selector or mail_server.SELECTOR
    return [await check_host(dns, host), await check_key(dns, host, selector)]


async def check_host(dns: Dns, host: str) -> Finding:
    """Check that the host has an address that leads back to its name, and SPF."""
    check = "DNS of the mail server"
    addresses, texts = await asyncio.gather(dns.addresses(host), dns.texts(host))
    if addresses is None or texts is None:
        action = "Try again, or set BUILDERS_DNS_RESOLVERS to name servers that respond."
        return Finding(check=check, ok=False, detail=f"No response about {host}.", next_action=action)
    named = await asyncio.gather(*(dns.names_of(each) for each in addresses))
    astray = [each for each, names in zip(addresses, named, strict=True) if host not in (names or ())]
    records = [each for each in texts if txt_records.is_spf(each)]
    error = txt_records.parse_spf(records[0]).error if len(records) == 1 else "it needs exactly one SPF record"
    if not addresses:
        detail, action = f"{host} has no address.", f"Set an A record at {host}."
    elif astray:
        detail = f"{', '.join(astray)} does not lead back to {host}."
        action = f"Let the provider of the address set its PTR record: {host}."
    elif error:
        detail = f"The SPF record of {host}: {error}."
        action = txt_records.txt_instruction(host, f"{txt_records.SPF_VERSION} a -all")
    else:
        return Finding(check=check, ok=True, detail=f"{host} has its address, its PTR and its SPF record.")
    return Finding(check=check, ok=False, detail=detail, next_action=action)


async def check_key(dns: Dns, host: str, selector: str, *, folder: Path = KEYS) -> Finding:
    """Check that DNS has the key that seals the mail of the host; as root, that it is the same one."""
    check, name = "signing", f"{selector}._domainkey.{host}"
    path = folder / f"{host}.{selector}.key"
    texts = await dns.texts(name)
    public = txt_records.dkim_key(texts[0]) if texts and len(texts) == 1 else None
    try:
        own = _read_public_key(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no private key"
        action = f"rspamadm dkim_keygen -b 2048 -d {host} -s {selector} -k {path}; chown _rspamd {path}"
        return Finding(check=check, ok=False, detail=f"{path}: {reason}.", next_action=action)
    if public is None or own not in {None, public}:
        action = f"Set the TXT record at {name} that `rspamadm dkim_keygen` printed; or make a new key with it."
        detail = "DNS has no key" if public is None else "DNS has another key"
        return Finding(check=check, ok=False, detail=f"{detail} at {name}.", next_action=action)
    detail = f"DNS has the key at {name}."
    more = "Run the check as root to compare it with the private key." if own is None else None
    return Finding(check=check, ok=True, detail=detail, next_action=more)


def _read_public_key(path: Path) -> str | None:
    """Return the public key of a private one; None if only root may read it. Raise OSError and ValueError."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except PermissionError:
        return None
    return dkim_keys.public_key_of(key) if isinstance(key, RSAPrivateKey) else None


def check_domain_keys(conninfo: str) -> Finding:
    """Report domains whose signing key DNS lacks, without failing: their mail is forwarded, but has no replies."""

    async def load() -> tuple[int, list[str]]:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as conn:
            received = await lookups.list_domains(conn)
            keys = await dkim_keys.list_keys(conn, domains=received)
        return len(received), sorted(received.keys() - {each.domain for each in keys if each.published_at})

    check = "keys of domains"
    count, missing = asyncio.run(load())
    if not missing:
        return Finding(check=check, ok=True, detail=f"DNS has those of all {count} domains.")
    listed = ", ".join(missing[:MAX_LISTED]) + (", …" if len(missing) > MAX_LISTED else "")
    action = "Set the records that `builders domains records` prints; the worker finds them within the hour."
    detail = f"DNS lacks those of {len(missing)} of {count} domains: {listed}."
    return Finding(check=check, ok=True, detail=detail, next_action=action)
