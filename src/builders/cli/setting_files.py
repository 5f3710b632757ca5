"""Settings that only their use would try, read as the service reads them: a wrong one ends each start.

These are the files that settings name, and the settings of mail.
"""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

from builders.cli.doctor import Finding
from builders.cli.session import CannotStart
from builders.kit.outbound import tls
from builders.kit.process.settings import Settings
from builders.mail.sender import read_sender
from builders.mail.transports import parse_url


def require(settings: Settings) -> None:
    """End the command with a message if a setting cannot be used."""
    for found in run_checks(settings):
        if not found.ok:
            raise CannotStart(found.detail, next_action=found.next_action)


def run_checks(settings: Settings) -> Iterator[Finding]:
    """Yield a finding about each file that a setting names, and about the settings of mail."""
    if (ca := settings.outbound_ca) is not None:
        yield _check("BUILDERS_OUTBOUND_CA", lambda: _read_authorities(ca))
    if (font := settings.invoice_font) is not None:
        yield _check("BUILDERS_INVOICE_FONT", lambda: _read_font(font))
    if (mail_log := settings.mail_log) is not None:
        yield _check("BUILDERS_MAIL_LOG", lambda: _read_log(mail_log))
    if (url := settings.smtp_url) is not None:
        yield _check("BUILDERS_SMTP_URL", lambda: parse_url(url.get_secret_value()))
    yield _check(
        "BUILDERS_MAIL_FROM" if settings.dkim_key is None else "BUILDERS_DKIM_KEY", lambda: read_sender(settings)
    )


def _read_font(path: Path) -> None:
    from builders.invoices.documents import pdf  # noqa: PLC0415 - takes a tenth of a second, and few set a font

    pdf.require_font(path)


def _read_log(path: Path) -> None:
    if path.is_dir():  # a missing file is none yet: Postfix creates it
        raise ValueError(f"{path} is a folder.")


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
        return Finding(check=setting, ok=True, detail="It can be used.")
    is_value = setting == "BUILDERS_SMTP_URL" or "BUILDERS_MAIL_" in reason
    action = "Correct the value, or unset the setting." if is_value else "Correct the file, or unset the setting."
    detail = reason if "BUILDERS_" in reason else f"{setting}: {reason}"
    return Finding(check=setting, ok=False, detail=detail, next_action=action)
