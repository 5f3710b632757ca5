"""An export that a connection requests by a tool."""

from typing import Any

from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.identity.oauth.program import Program
from tests.mcp_server.make import message, post


async def call(program: Program, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the data of an operation that a tool sends."""
    body = message("tools/call", name=tool, arguments=arguments)
    answer = (await post(program.service, body, Authorization=f"Bearer {token}")).json()["result"]
    assert not answer["isError"], answer
    found: dict[str, Any] = answer["structuredContent"]["untrusted_data"]
    return found


async def test_a_connection_exports_what_its_mandate_reads(
    program: Program, alice: Person, settings: Settings
) -> None:
    mandate = {"toolsets": ["api", "money"], "read_only": False}
    token = str((await program.connect(mandate=mandate))["access_token"])
    requested = await call(program, token, "write_operation", operation_id="account_create_export")
    await queue.run_pending(program.service.api.state.database, settings)
    path = {"export_id": requested["id"]}
    written = await call(program, token, "read_operation", operation_id="account_get_export", path=path)

    assert written["state"] == "ready"
    assert {"profile_get", "invoices_list_invoices"} <= set(written["parts"])
    assert written["left_out"]["projects_list_projects"] == "insufficient_scope"
    assert (await alice.get(f"/v1/account/exports/{requested['id']}")).status_code == 404
