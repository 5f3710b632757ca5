"""`builders keys`."""

import json
from dataclasses import asdict
from typing import Any

import click

from builders.cli.session import fail, json_option, run, show
from builders.identity import service as identity
from builders.identity.records import Account, ApiKey, KeyKind, NewApiKey, Preset
from builders.kit import ids
from builders.kit.db import Conn, Database
from builders.kit.pages import MAX_LIMIT, PageRequest
from builders.kit.settings import Settings

account_option = click.option("--account", "email", required=True, help="Address of the account.")


@click.group()
def keys() -> None:
    """API keys."""


@keys.command()
@account_option
@click.option("--kind", type=click.Choice(list(KeyKind)), required=True)
@click.option("--preset", type=click.Choice(list(Preset)), required=True)
@click.option("--label", default="made by the operator", show_default=True)
@json_option
def create(email: str, kind: KeyKind, preset: Preset, label: str, *, as_json: bool) -> None:
    """Mint a key. Its secret is printed here and never again."""

    async def work(database: Database, _: Settings) -> NewApiKey:
        async with database.transaction() as conn:
            account = await _account(conn, email)
            return await identity.create_key(
                conn,
                account_id=account.id,
                label=label,
                kind=kind,
                preset=preset,
                minted_by=KeyKind.LIVE,
                created_by="operator",
            )

    new = run(work)
    show({**asdict(new.key), "secret": new.secret}, as_json=as_json, text=new.secret)


@keys.command("list")
@account_option
@json_option
def list_keys(email: str, *, as_json: bool) -> None:
    """List the keys of an account, newest first."""

    async def work(database: Database, _: Settings) -> list[dict[str, Any]]:
        async with database.reading() as conn:
            account = await _account(conn, email)
            page = PageRequest(limit=MAX_LIMIT)
            found = await identity.list_keys(conn, account_id=account.id, page=page)
            items: list[dict[str, Any]] = json.loads(found.items)
            return items

    items = run(work)
    lines = [
        f"{key['id']}  {key['prefix']}…{key['last4']}  {key['preset']}  "
        f"{'revoked' if key['revoked_at'] else 'active '}  {key['label']}"
        for key in items
    ]
    show(items, as_json=as_json, text="\n".join(lines) or "No keys.")


@keys.command()
@account_option
@click.argument("key_id")
@json_option
def revoke(email: str, key_id: str, *, as_json: bool) -> None:
    """Revoke a key by its id; it is refused everywhere within seconds."""

    async def work(database: Database, _: Settings) -> ApiKey:
        async with database.transaction() as conn:
            account = await _account(conn, email)
            return await identity.revoke_key(
                conn, account_id=account.id, key_id=ids.find(key_id), revoked_by=KeyKind.LIVE
            )

    key = run(work)
    show(asdict(key), as_json=as_json, text=f"Revoked {key.prefix}…{key.last4} ({key.label}).")


async def _account(conn: Conn, email: str) -> Account:
    account = await identity.find_account(conn, email=email)
    if account is None:
        fail(f"There is no account with the address {email}.")
    return account
