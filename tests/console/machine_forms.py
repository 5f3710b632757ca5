"""The forms that give machines and programs what they ask for: where each is shown, and what makes it stale."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from builders.identity.oauth.clients import ClientDocuments
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.cast import Client, Person, replaced
from tests.console.scenes import Scene, Shown
from tests.console.visitor import Visitor
from tests.identity.oauth.program import URL, Program, publishing


async def machine(scene: Scene, scope: str = "developer_full") -> None:
    asked = {"host": "ada-laptop", "scope": scope}
    scene.made = (await scene.alice.post("/v1/auth/device/authorize", json=asked)).json()


async def opened_machine(scene: Scene, scope: str = "developer_full") -> None:
    await machine(scene, scope)
    async with scene.alice.browser() as browser:
        code = {"user_code": scene.made["user_code"]}
        scene.made = (await browser.post("/v1/auth/device/code", json=code)).json()


async def deny_machine(scene: Scene) -> None:
    path = f"/v1/auth/device/requests/{scene.made['id']}/decision"
    await scene.change("POST", path, json={"decision": "deny"})


async def asking_program(scene: Scene) -> None:
    """Let a program ask for a connection in the browsers that the test opens."""
    service = scene.alice.service
    folder = Path(scene.stack.enter_context(TemporaryDirectory()))
    publisher = await scene.stack.enter_async_context(publishing(folder))
    allowed = (f"127.0.0.1:{publisher.receiver.port}",)
    outbound = Outbound(Settings(outbound_allow=allowed, outbound_ca=publisher.ca, base_url=URL))
    documents = ClientDocuments(await scene.stack.enter_async_context(outbound))
    scene.stack.enter_context(replaced(service, client_documents=documents))
    anyone = await scene.stack.enter_async_context(Client(service))
    path = await Program(service, publisher, anyone).begin()
    scene.made = {"id": path.rpartition("/")[2]}
    visit, cookie = scene.visit, f"svc_authorize={anyone.cookies['svc_authorize']}"

    async def visit_where_it_began(person: Person) -> Visitor:
        browser = await visit(person)
        browser.headers["Cookie"] += f"; {cookie}"
        return browser

    scene.visit = visit_where_it_began
    scene.made["cookie"] = cookie


async def deny_program(scene: Scene) -> None:
    async with scene.alice.browser() as browser:
        browser.headers["Cookie"] += f"; {scene.made['cookie']}"
        path = f"/v1/auth/oauth/requests/{scene.made['id']}"
        digest = (await browser.get(path)).json()["client_digest"]
        await browser.post(f"{path}/decision", json={"decision": "deny", "client_digest": digest})


async def connection(scene: Scene) -> None:
    await asking_program(scene)
    async with scene.alice.browser() as browser:
        browser.headers["Cookie"] += f"; {scene.made['cookie']}"
        path = f"/v1/auth/oauth/requests/{scene.made['id']}"
        digest = (await browser.get(path)).json()["client_digest"]
        allowed = {"decision": "allow", "client_digest": digest, "mandate": {"toolsets": ["names"]}}
        await browser.post(f"{path}/decision", json=allowed)


MACHINES_AND_PROGRAMS: Mapping[str, Shown] = {
    "device-find": Shown(page="device", prepare=machine, typed={"user_code": "{user_code}"}),
    "device-approve": Shown(
        page="device/{id}", prepare=opened_machine, meanwhile=deny_machine, tells="was decided or has expired"
    ),
    "device-agent": Shown(
        page="device/{id}",
        prepare=lambda scene: opened_machine(scene, "developer_full agent"),
        typed={"toolsets": "names"},
        meanwhile=deny_machine,
        tells="was decided or has expired",
    ),
    "connect-allow": Shown(
        page="connect/{id}",
        prepare=asking_program,
        typed={"toolsets": "names"},
        meanwhile=deny_program,
        tells="was decided, has expired",
    ),
    "connect-deny": Shown(
        page="connect/{id}", prepare=asking_program, meanwhile=deny_program, tells="was decided, has expired"
    ),
    "connection-revoke": Shown(page="connections", prepare=connection),
    "device-deny": Shown(
        page="device/{id}", prepare=opened_machine, meanwhile=deny_machine, tells="was decided or has expired"
    ),
}
