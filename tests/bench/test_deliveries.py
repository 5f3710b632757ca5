"""The benchmark of deliveries runs: both contenders deliver every event. No test is timed."""

import asyncio
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench import deliveries
from builders.kit.db import migrations
from builders.kit.values import ids


async def test_both_deliver_everything(server: str, tmp_path: Path) -> None:
    name = f"bench_{ids.new().hex}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    own = make_conninfo(server, dbname=name)
    migrations.migrate(own)
    loop = asyncio.get_running_loop()
    receiver = await loop.create_server(deliveries.Receiver, deliveries.HOST, 0)
    port = receiver.sockets[0].getsockname()[1]
    settings = deliveries.settings_of(own, tmp_path, port)
    try:
        accounts = await deliveries.prepare(settings, port)
        await deliveries.publish(settings, accounts, 40)
        assert await deliveries.deliver(settings, count=40) > 0
        assert await deliveries.post(port, body=b"{}", count=40) > 0
    finally:
        receiver.close()
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
