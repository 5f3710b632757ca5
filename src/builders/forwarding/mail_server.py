"""The files of the mail server: Postfix, postsrsd and rspamd as they are configured for this installation.

The templates are the files below `deploy`, at their places in the file system, with `<<names>>` of values.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from builders.kit.process.hosts import read_local_listener
from builders.kit.process.settings import Settings

MESSAGE_BYTES = 35 * 1024 * 1024  # 25 MB of attachments, as they are encoded in a message
QUEUE_BYTES = MESSAGE_BYTES + 2 * 1024 * 1024  # with the headers that the servers add to it on its way
RATE = 600  # connections, messages and recipients of a sending server, per minute
RETURN = ("127.0.0.1", 10025)  # where the mail filter returns messages
SELECTOR = "builders"  # of the key that signs, unless the settings name one

_NAME = re.compile(r"<<(\w+)>>")


class NotConfigured(Exception):
    """A setting that the mail server needs is missing; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailHost:
    """A machine that receives mail."""

    name: str  # A-label
    tls_chain: str | None = None  # file with its private key and its certificates (PEM)


def find_host(settings: Settings) -> str | None:
    """Return the preferred host of the settings, if any."""
    return settings.mail_hosts[0] if settings.mail_hosts else None


def build(settings: Settings, host: MailHost) -> Mapping[PurePosixPath, str]:
    """Return the text of each file by its path below the root of the machine. Raise NotConfigured."""
    values = _values(settings, host)
    return {
        path: _NAME.sub(lambda found: values[found[1]], template.read_text(encoding="utf-8"))
        for path, template in _walk(files("builders.forwarding") / "deploy", PurePosixPath())
    }


def _values(settings: Settings, host: MailHost) -> Mapping[str, str]:
    if settings.lookup_listen is None:
        raise NotConfigured("BUILDERS_LOOKUP_LISTEN is not set: the mail server asks there.")
    if settings.filter_listen is None:
        raise NotConfigured("BUILDERS_FILTER_LISTEN is not set: the mail server hands over mail there.")
    operator = settings.postmaster
    if operator is not None and operator.rpartition("@")[2] == host.name:
        raise NotConfigured("BUILDERS_POSTMASTER is an address of the mail server, which has no mailboxes.")
    endpoint = _endpoint(settings.lookup_listen)
    kept = ", ".join(f"{{ {name}@{host.name} = {operator} }}" for name in ("postmaster", "abuse"))
    return {
        "host": host.name,
        "lookup": f"socketmap:{endpoint}",
        "filter": f"filter:{_endpoint(settings.filter_listen)}",
        "return_port": str(RETURN[1]),
        "policy": endpoint,
        "mail_log": "" if settings.mail_log is None else str(settings.mail_log),
        "operator_map": "" if operator is None else f"inline:{{ {kept} }}, ",
        "tls_level": "none" if host.tls_chain is None else "may",
        "tls_chain": host.tls_chain or "",
        "message_bytes": str(MESSAGE_BYTES),
        "queue_bytes": str(QUEUE_BYTES),
        "rate": str(RATE),
        "selector": settings.dkim_selector or SELECTOR,
    }


def _endpoint(listen: str) -> str:
    """Return an address of this machine as Postfix writes it."""
    listener = read_local_listener(listen)
    if listener.path:
        return f"unix:{listener.path}"
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"inet:{host}:{listener.port}"


def _walk(folder: Traversable, path: PurePosixPath) -> list[tuple[PurePosixPath, Traversable]]:
    found = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        place = path / each.name
        found += _walk(each, place) if each.is_dir() else [(place, each)]
    return found
