"""The files that settings name, read as the service reads them: a wrong one ends each start with one sentence."""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

from builders.cli.doctor import Finding
from builders.cli.session import CannotStart
from builders.kit.outbound import tls
from builders.kit.process.settings import Settings
from builders.mail.sender import read_sender


def require(settings: Settings) -> None:
    """End the command with a message if a file cannot be used."""
    findings = [*run_checks(settings)]
    if (font := settings.invoice_font) is not None:
        findings.append(_check("BUILDERS_INVOICE_FONT", lambda: _read_font(font)))
    for found in findings:
        if not found.ok:
            raise CannotStart(found.detail, next_action=found.next_action)


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Yield a finding about each file that a setting names, but for the font."""
    if (ca := settings.outbound_ca) is not None:
        yield _check("BUILDERS_OUTBOUND_CA", lambda: _read_authorities(ca))
    if settings.dkim_key is not None:
        yield _check("BUILDERS_DKIM_KEY", lambda: read_sender(settings))


def _read_font(path: Path) -> None:
    from builders.invoices.documents import pdf  # noqa: PLC0415 - takes a tenth of a second, and few set a font

    pdf.require_font(path)


def _read_authorities(path: Path) -> None:
    with path.open("rb"):  # whose error names the file
        try:
            tls.context(path)
        except ssl.SSLError:
            raise ValueError(f"{path} has no certificate in PEM.") from None


def _check(setting: str, read: Callable[[], object]) -> Finding:
    try:
        read()
    except OSError as error:
        reason = f"{error.filename} cannot be read: {error.strerror}."
    except ValueError as error:
        reason = str(error)
    else:
        return Finding(check=setting, ok=True, detail="The file can be used.")
    action = "Correct the file, or unset the setting."
    detail = reason if setting in reason else f"{setting}: {reason}"
    return Finding(check=setting, ok=False, detail=detail, next_action=action)
