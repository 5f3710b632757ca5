"""`builders mail`."""

from collections.abc import Sequence
from dataclasses import asdict
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path

import click

from builders.cli import commands
from builders.cli.session import fail, note, read_settings
from builders.identity.records import Account
from builders.kit.values.ids import ALL_ACCOUNTS
from builders.mail import service as mail_service
from builders.mail.records import Message, Status

LAST = "last"
_HEAD = ("CREATED", "STATUS", "TEMPLATE", "RECIPIENT", "ATTEMPTS", "CODE", "ERROR")


@click.group()
def mail() -> None:
    """Manage outgoing mail."""


@mail.command("show")
@click.argument("name", default=LAST)
@click.option("--to", help="Only messages to this address.")
@click.option("--html", "as_html", is_flag=True, help="Print the HTML part, for a browser.")
@commands.json_option
def show_command(name: str, to: str | None, *, as_html: bool, as_json: bool) -> None:
    """Show a message of the development outbox: the last one, or the one with the NAME that --json shows.

    Without BUILDERS_SMTP_URL, messages are written there and not sent.
    """
    settings = read_settings()
    found = _find(mail_service.list_outbox(settings.data_dir), name, to)
    if found is None:
        missing = "no such message" if to is None else f"no message to {commands.plain(to)}"
        hint = (
            "Email is sent by BUILDERS_SMTP_URL and not stored" if settings.smtp_url else "The worker writes them"
        )
        fail(f"{settings.data_dir / 'outbox'} has {missing}. {hint}; see `builders mail list`.")
    if settings.smtp_url:
        note("Email is sent by BUILDERS_SMTP_URL; this message was stored before that was set.")
    path, message = found
    text, html = (_part(message, kind) for kind in ("plain", "html"))
    heads = {head: str(message[head]) for head in ("From", "To", "Subject", "Date")}
    shown = {"name": path.name, **{head.lower(): value for head, value in heads.items()}, "text": text}
    if as_html:
        commands.show({**shown, "html": html}, as_json=as_json, text=html)
        return
    lines = [*(f"{head}: {value}" for head, value in heads.items()), "", *text.splitlines()]
    commands.show(shown, as_json=as_json, text="\n".join(commands.plain(line) for line in lines))


def _find(paths: Sequence[Path], name: str, to: str | None) -> tuple[Path, EmailMessage] | None:
    """Return the newest message with the name, to the address."""
    for path in reversed(paths):
        if name not in {LAST, path.name, path.stem}:
            continue
        message = BytesParser(EmailMessage, policy=default).parsebytes(path.read_bytes())
        if to is None or message["To"].addresses[0].addr_spec.lower() == to.strip().lower():
            return path, message
    return None


def _part(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    content: str = part.get_content() if part is not None else ""
    return content


@mail.command("list")
@commands.any_account_option
@click.option("--status", type=commands.Member(Status), help="Only this status.")
@commands.limit_option(1000, default=20)
@commands.reads
async def list_command(
    session: commands.Session, account: Account | None, status: Status | None, limit: int
) -> commands.Output:
    """List messages with their delivery state, newest first; addresses are masked."""
    account_id = account.id if account else ALL_ACCOUNTS
    found = await mail_service.list_messages(session.conn, account_id=account_id, status=status, limit=limit)
    return commands.Output(
        [asdict(each) for each in found], commands.table(_HEAD, map(_cells, found), empty="No messages.")
    )


def _cells(message: Message) -> Sequence[object]:
    when = f"{message.created_at:%Y-%m-%d %H:%M:%SZ}"
    answer = message.attempts, message.last_code or "-", message.last_error or ""
    return when, message.status, message.template, message.recipient, *answer
