"""`builders keys` and `builders token`."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

import click

from builders.cli import commands
from builders.cli.session import read_keyring
from builders.identity import keys as identity_keys, sessions
from builders.identity.records import MAX_LABEL, Account, KeyKind, Preset, SessionKind
from builders.kit.callers import OPERATOR
from builders.kit.values import ids
from builders.plans.promotion import on_approval  # noqa: F401 - it ends what machines wait for

MAX_TOKEN_MINUTES = 12 * 60
_HEAD = ("ID", "KEY", "PRESET", "STATE", "LABEL")


@click.group()
def keys() -> None:
    """Manage API keys."""


def _label(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    label = value.strip()
    if not 0 < len(label) <= MAX_LABEL:
        raise click.BadParameter(f"must have 1 to {MAX_LABEL} characters")
    return label


def _moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.BadParameter("write a time with an offset, such as 2027-01-31T00:00:00Z")
    return moment


@keys.command()
@commands.account_option
@click.option("--kind", type=commands.Member(KeyKind), required=True)
@click.option("--preset", type=commands.Member(Preset), required=True)
@click.option("--label", default="created by the operator", show_default=True, callback=_label)
@click.option("--expires-at", callback=_moment, help="Expiry (RFC 3339); never by default.")
@click.option("--allow-ip", "networks", multiple=True, help="Allowed network (CIDR); repeatable.")
@commands.writes
async def create(
    session: commands.Session,
    account: Account,
    kind: KeyKind,
    preset: Preset,
    label: str,
    expires_at: datetime | None,
    networks: tuple[str, ...],
) -> commands.Output:
    """Create a key and print its secret, which is shown only once."""
    new = await identity_keys.create_key(
        session.conn,
        account_id=account.id,
        label=label,
        key_kind=kind,
        preset=preset,
        minted_by=KeyKind.LIVE,
        actor=OPERATOR,
        expires_at=expires_at,
        allowed_ips=networks or None,
    )
    return commands.Output(asdict(new), new.secret)


@keys.command("list")
@commands.account_option
@commands.reads
async def list_keys(session: commands.Session, account: Account) -> commands.Output:
    """List the keys of an account, newest first."""
    items = await commands.list_items(
        lambda page: identity_keys.list_keys(session.conn, account_id=account.id, page=page)
    )
    return commands.Output(items, commands.table(_HEAD, map(_cells, items), empty="No keys."))


def _cells(key: commands.Item) -> Sequence[str]:
    state = f"revoked {key['revoked_at']}" if key["revoked_at"] else "active"
    if key["disabled_at"] and not key["revoked_at"]:
        state = "disabled"
    elif key["expires_at"] and not key["revoked_at"]:
        state = f"until {key['expires_at']}"
    shown = f"{key['prefix']}…{key['last4']}" if key["prefix"] else key["client_name"]
    return key["id"], shown, key["preset"] or "connection", state, key["label"]


@keys.command()
@commands.account_option
@click.argument("key_id")
@commands.writes
async def revoke(session: commands.Session, account: Account, key_id: str) -> commands.Output:
    """Revoke a key by its id; it is refused within seconds."""
    key = await identity_keys.revoke_key(
        session.conn, account_id=account.id, key_id=ids.parse(key_id), revoked_by=KeyKind.LIVE, actor=OPERATOR
    )
    return commands.Output(key, f"Revoked {key.prefix}…{key.last4} ({commands.plain(key.label)}).")


@keys.command()
@commands.account_option
@click.argument("key_id", required=False)
@commands.writes
async def enable(session: commands.Session, account: Account, key_id: str | None) -> commands.Output:
    """Enable a key that a restore disabled; without its id, all of the account."""
    number = await identity_keys.enable_keys(
        session.conn,
        account_id=account.id,
        key_id=None if key_id is None else ids.parse(key_id),
        actor=OPERATOR,
    )
    return commands.Output({"enabled": number}, f"Enabled {commands.counted(number, 'key')}.")


@keys.command()
@commands.account_option
@commands.writes
async def stop(session: commands.Session, account: Account) -> commands.Output:
    """Stop all machines of an account: revoke its keys and connections, and end promotions that wait."""
    revoked = await identity_keys.revoke_all(session.conn, account_id=account.id, actor=OPERATOR)
    return commands.Output({"revoked": len(revoked)}, f"Revoked {len(revoked)} keys and connections.")


@click.command()
@commands.account_option
@click.option(
    "--minutes",
    type=click.IntRange(1, MAX_TOKEN_MINUTES),
    default=15,
    show_default=True,
    help="Lifetime in minutes.",
)
@commands.writes
async def token(session: commands.Session, account: Account, minutes: int) -> commands.Output:
    """Create a short-lived token that authenticates as the account, and print it once."""
    new = await sessions.open_session(
        session.conn,
        keyring=read_keyring(session.settings),
        settings=session.settings,
        account_id=account.id,
        kind=SessionKind.TOKEN,
        actor=OPERATOR,
        lifetime=timedelta(minutes=minutes),
    )
    return commands.Output({**asdict(new.session), "token": new.token}, new.token)
