import pytest

from tests.cast import Client
from tests.probes.conftest import MakeAsker

NOWHERE = "host=/nowhere"
LIVENESS = ["/livez", "/health"]


@pytest.mark.parametrize("path", LIVENESS)
async def test_a_running_process_is_alive(anyone: Client, path: str) -> None:
    answer = await anyone.get(path)

    assert answer.status_code == 200
    assert answer.json() == {"status": "ok"}
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("path", LIVENESS)
async def test_liveness_needs_no_database(asker: MakeAsker, path: str) -> None:
    client = await asker(database_url=NOWHERE, pool_timeout_s=0.2)

    assert (await client.get("/readyz")).status_code == 503
    assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize("path", [*LIVENESS, "/readyz"])
async def test_probes_ignore_credentials(anyone: Client, path: str) -> None:
    bad = {"X-API-Key": "x", "Authorization": "Basic x", "Cookie": "svc_access_token=x"}

    assert (await anyone.get(path, headers=bad)).status_code == 200
