"""`builders keys` and `builders token`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

import click

from builders.cli.session import account_option, fail, json_option, plain, run, show, table, transact
from builders.identity import accounts, keys as identity_keys, sessions
from builders.identity.records import MAX_LABEL, ApiKey, KeyKind, NewApiKey, NewSession, Preset, SessionKind
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR
from builders.kit.http.pagination import MAX_LIMIT, PageRequest
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import ids

MAX_TOKEN_MINUTES = 12 * 60
Item = dict[str, Any]  # a key as GET /v1/api-keys lists it


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
@account_option
@click.option("--kind", type=click.Choice([kind.value for kind in KeyKind]), required=True)
@click.option("--preset", type=click.Choice([preset.value for preset in Preset]), required=True)
@click.option("--label", default="created by the operator", show_default=True, callback=_label)
@click.option("--expires-at", callback=_moment, help="Expiry (RFC 3339); never by default.")
@click.option("--allow-ip", "networks", multiple=True, help="Allowed network (CIDR); repeatable.")
@json_option
def create(
    email: str,
    kind: str,
    preset: str,
    label: str,
    expires_at: datetime | None,
    networks: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Create a key and print its secret, which is shown only once."""

    async def work(conn: Conn) -> NewApiKey:
        account = await accounts.get_account_by_email(conn, email=email)
        return await identity_keys.create_key(
            conn,
            account_id=account.id,
            label=label,
            kind=KeyKind(kind),
            preset=Preset(preset),
            minted_by=KeyKind.LIVE,
            actor=OPERATOR,
            expires_at=expires_at,
            allowed_ips=networks or None,
        )

    new = transact(work)
    show({**asdict(new.key), "secret": new.secret}, as_json=as_json, text=new.secret)


@keys.command("list")
@account_option
@json_option
def list_keys(email: str, *, as_json: bool) -> None:
    """List the keys of an account, newest first."""

    async def work(database: Database, _: Settings) -> list[Item]:
        items: list[Item] = []
        async with database.connection() as conn:
            account = await accounts.get_account_by_email(conn, email=email)
            page = PageRequest(limit=MAX_LIMIT, seal=lambda key: str(key[0]))
            while True:
                found = await identity_keys.list_keys(conn, account_id=account.id, page=page)
                items += json.loads(found.items)
                if found.next_cursor is None:
                    return items
                page = replace(page, after=(found.next_cursor,))

    items = run(work)
    show(items, as_json=as_json, text=table(_HEAD, map(_cells, items), empty="No keys."))


@keys.command()
@account_option
@click.argument("key_id")
@json_option
def revoke(email: str, key_id: str, *, as_json: bool) -> None:
    """Revoke a key by its id; it is refused within seconds."""

    async def work(conn: Conn) -> ApiKey:
        account = await accounts.get_account_by_email(conn, email=email)
        return await identity_keys.revoke_key(
            conn,
            account_id=account.id,
            key_id=ids.parse(key_id),
            revoked_by=KeyKind.LIVE,
            actor=OPERATOR,
        )

    key = transact(work)
    show(key, as_json=as_json, text=f"Revoked {key.prefix}…{key.last4} ({plain(key.label)}).")


_HEAD = ("ID", "KEY", "PRESET", "STATE", "LABEL")


def _cells(key: Item) -> Sequence[str]:
    state = f"revoked {key['revoked_at']}" if key["revoked_at"] else "active"
    if key["expires_at"] and not key["revoked_at"]:
        state = f"until {key['expires_at']}"
    return key["id"], f"{key['prefix']}…{key['last4']}", key["preset"], state, key["label"]


@click.command()
@click.option("--account", "email", required=True, help="Address of the account.")
@click.option(
    "--minutes",
    type=click.IntRange(1, MAX_TOKEN_MINUTES),
    default=15,
    show_default=True,
    help="Lifetime in minutes.",
)
@json_option
def token(email: str, minutes: int, *, as_json: bool) -> None:
    """Create a short-lived token that authenticates as the account, and print it once."""

    async def work(database: Database, settings: Settings) -> NewSession:
        try:
            keyring = secret_keys.keyring_of(settings)
        except ValueError as error:
            fail(f"The secret keys are not valid: {error}")
        async with database.transaction() as conn:
            account = await accounts.get_account_by_email(conn, email=email)
            return await sessions.open_session(
                conn,
                keyring=keyring,
                settings=settings,
                account_id=account.id,
                kind=SessionKind.TOKEN,
                actor=OPERATOR,
                lifetime=timedelta(minutes=minutes),
            )

    new = run(work)
    show({**asdict(new.session), "token": new.token}, as_json=as_json, text=new.token)
