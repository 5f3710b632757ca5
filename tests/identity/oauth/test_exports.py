"""An export that a connection requests and collects by tools."""

from typing import Any
from uuid import UUID

from builders.exports import service as exports, store
from builders.exports.records import LIFETIME
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Person
from tests.identity.oauth.program import Program
from tests.mcp_server.make import message, post

Json = dict[str, Any]
CONTENT = "account_get_export_content"
EXPORTS = {"toolsets": ["api", "money"], "read_only": False}


async def send(program: Program, token: str, tool: str, **arguments: Any) -> Json:
    """Return the result of a tool, or its refusal."""
    body = message("tools/call", name=tool, arguments=arguments)
    answer = await post(program.service, body, Authorization=f"Bearer {token}")
    found: Json = answer.json()["result"]["structuredContent"]
    return found


async def connect(program: Program) -> str:
    """Return the token of a new connection."""
    return str((await program.connect(mandate=EXPORTS, key_kind="live"))["access_token"])


async def export(program: Program, token: str, settings: Settings) -> Json:
    """Let a connection request an export, and the worker write it; return the arguments that name it."""
    requested = await send(program, token, "write_operation", operation_id="account_create_export")
    await queue.run_pending(program.service.api.state.database, settings)
    return {"path": {"export_id": requested["untrusted_data"]["id"]}}


async def content_of(program: Program, alice: Person, asked: Json) -> str:
    """Return the content that is stored of an export."""
    state, export_id = program.service.api.state, UUID(asked["path"]["export_id"])
    async with state.database.connection() as conn:
        row = {"account_id": alice.account.id, "export_id": export_id}
        found = await store.find(conn, **row, since=clock.now() - LIFETIME)
    assert found is not None
    return "".join([each async for each in exports.read(state.database, keyring=state.keyring, export=found)])


async def test_a_connection_exports_what_its_mandate_reads(
    program: Program, alice: Person, settings: Settings
) -> None:
    token = await connect(program)
    asked = await export(program, token, settings)
    found = await send(program, token, "read_operation", operation_id="account_get_export", **asked)
    written = found["untrusted_data"]

    assert written["state"] == "ready"
    assert {"profile_get", "invoices_list_invoices"} <= set(written["parts"])
    assert written["left_out"]["projects_list_projects"] == "insufficient_scope"
    assert (await alice.get(f"/v1/account/exports/{written['id']}")).status_code == 404


async def test_a_connection_collects_the_whole_content_in_parts(
    program: Program, alice: Person, settings: Settings
) -> None:
    for at in range(30):
        body = {"label": f"key {at} \N{SNOWMAN}", "preset": "developer_full", "key_kind": "live"}
        assert (await program.browser.post("/v1/api-keys", json=body)).status_code == 200
    token = await connect(program)
    asked = await export(program, token, settings)
    parts: list[str] = []
    further: list[Json] = [{"tool": "read_operation", "arguments": {"operation_id": CONTENT, **asked}}]
    while further:
        found = await send(program, token, further[0]["tool"], **further[0]["arguments"])
        parts.append(found["untrusted_data"])
        further = found["next_actions"]

    assert len(parts) > 1
    assert "".join(parts) == await content_of(program, alice, asked)
    assert all(each.endswith("\n") for each in parts)


async def test_another_connection_of_the_account_finds_no_content(program: Program, settings: Settings) -> None:
    asked = await export(program, await connect(program), settings)
    refusal = await send(program, await connect(program), "read_operation", operation_id=CONTENT, **asked)

    assert (refusal["status"], refusal["code"]) == (404, "export_not_found")


async def test_no_part_begins_at_the_end(program: Program, alice: Person, settings: Settings) -> None:
    token = await connect(program)
    asked = await export(program, token, settings)
    size = len(await content_of(program, alice, asked))
    last, beyond = [
        await send(program, token, "read_operation", operation_id=CONTENT, position=position, **asked)
        for position in (size - 1, size)
    ]

    assert (last["untrusted_data"], last["next_actions"]) == ("\n", [])
    assert (beyond["code"], beyond["reason"]) == ("range_not_satisfiable", f"The content has {size} bytes.")


async def test_a_running_export_has_no_part(program: Program) -> None:
    token = await connect(program)
    requested = await send(program, token, "write_operation", operation_id="account_create_export")
    path = {"export_id": requested["untrusted_data"]["id"]}
    refusal = await send(program, token, "read_operation", operation_id=CONTENT, path=path)

    assert refusal["code"] == "export_not_ready"
