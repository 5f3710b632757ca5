"""The DNS records that mail of a domain needs, as this installation expects them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builders.domains import txt_records
from builders.domains.records import DkimKey
from builders.kit.process.settings import Settings

_STRING = 255  # bytes of one string of a TXT record


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRecord:
    """A record to set."""

    name: str
    type: str
    value: str

    @property
    def line(self) -> str:
        """Return the line of a zone file (RFC 1035, 5)."""
        value = self.value
        if self.type == "TXT":
            value = " ".join(f'"{value[at : at + _STRING]}"' for at in range(0, len(value), _STRING))
        return f"{self.name}. IN {self.type} {value}"


def list_records(domain: str, *, keys: Sequence[DkimKey], settings: Settings) -> Iterator[MailRecord]:
    """Yield the records of a domain; `keys` are its keys, each of which stays until it is deleted here."""
    for place, host in enumerate(settings.mail_hosts, 1):
        yield MailRecord(name=domain, type="MX", value=f"{10 * place} {host}.")
    sender = f"include:{settings.spf_include}" if settings.spf_include else "mx"
    yield MailRecord(name=domain, type="TXT", value=f"{txt_records.SPF_VERSION} {sender} ~all")
    yield MailRecord(name=f"_dmarc.{domain}", type="TXT", value=txt_records.SUGGESTED_DMARC)
    for key in keys:
        yield MailRecord(name=key.name, type="TXT", value=key.value)
