"""openapi-python-client generates a client without a warning, and the client claims a name."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from builders.kit.db.connections import Database
from tests.architecture.source import ROOT
from tests.cast import Client, Person
from tests.plans.make import Domains
from tests.published import published

PACKAGE = "generated_builders_client"
DOCUMENT = ROOT / "docs/reference/openapi.json"
CONFIG = Path(__file__).with_name("python.yaml")
GENERATE = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
Generated = Any  # the generated code has no types here
# The generator sends the optional cookie parameter in a way that httpx deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:Setting per-request cookies:DeprecationWarning")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Generated]]:
    """Return a function that imports a module of the generated client."""
    folder = tmp_path_factory.mktemp("generated")
    options = ["--path", str(DOCUMENT), "--config", str(CONFIG), "--output-path", str(folder / PACKAGE)]
    done = subprocess.run([*GENERATE, *options], capture_output=True, text=True, timeout=120, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "warning" not in said.lower(), said
    sys.path.insert(0, str(folder))
    try:
        yield lambda name: import_module(f"{PACKAGE}.{name}")
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a live catalog domain."""
    return await Domains(database, folder=tmp_path, assets=assets)()


def client_of(generated: Callable[[str], Generated], asking: Client) -> Generated:
    """Return a generated client that sends requests by this client."""
    own = generated("client").Client(base_url="http://builders.test", raise_on_unexpected_status=True)
    return own.set_async_httpx_client(asking)


async def test_the_client_checks_plans_and_promotes(
    generated: Callable[[str], Generated], alice: Person, anyone: Client, domain: str
) -> None:
    models = generated("models")
    public, test, live = (client_of(generated, each) for each in (anyone, alice.test, alice))

    check = generated("api.catalog.catalog_check")
    free = await check.asyncio(client=public, local_part="ada", domain=domain)
    assert isinstance(free, models.CheckReply)
    assert free.available

    wanted = models.ManifestAlias(key="ada", address=f"ada@{domain}", destinations=["ada@example.net"])
    manifest = models.SandboxManifest(
        api_version="v1",
        kind="Manifest",
        metadata=models.ManifestMetadata(name="acme-mail"),
        resources=models.ManifestResources(aliases=[wanted]),
    )
    plan = await generated("api.sandbox.sandbox_make_plan").asyncio(client=test, body=manifest)
    assert isinstance(plan, models.PlanReply)
    assert (plan.promotable, [action.action for action in plan.actions]) == (True, ["create"])

    consent = models.SandboxPromoteRequest(plan_id=plan.id, digest=plan.digest)
    promotion = await generated("api.sandbox.sandbox_promote").asyncio(client=live, body=consent)
    assert isinstance(promotion, models.PromotionReply)
    assert (promotion.plan_id, promotion.status) == (plan.id, "succeeded")

    taken = await check.asyncio(client=public, local_part="ada", domain=domain)
    assert isinstance(taken, models.CheckReply)


async def test_the_client_reads_errors(generated: Callable[[str], Generated], alice: Person) -> None:
    models = generated("models")
    live = client_of(generated, alice)
    found = await generated("api.api_keys.api_keys_get").asyncio(client=live, key_id="nonsense")
    assert isinstance(found, models.Problem)
    assert (found.status, found.code) == (httpx.codes.NOT_FOUND, "api_key_not_found")


async def test_the_client_accepts_values_of_a_later_revision(generated: Callable[[str], Generated]) -> None:
    [shown, *_] = published().document["components"]["schemas"]["PlanReply"]["examples"]
    assert generated("models").PlanReply.from_dict({**shown, "status": "archived"}).status == "archived"
