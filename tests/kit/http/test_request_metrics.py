"""What is counted of requests: by operation, and never with a value that a client sends."""

import pytest
from fastapi.routing import APIRoute

from builders.app import ROUTERS
from builders.kit.events import outbox
from builders.kit.http import request_metrics
from builders.kit.process import metrics, waits
from tests.cast import Client, Person

HOSTILE = "hostile-5f0c"
MAX_SERIES = 5_000
RESULTS = 3


def sample(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize(("query", "result"), [("", "answered"), ("?limit=0", "refused")])
async def test_a_request_counts_for_its_operation_and_result(alice: Person, query: str, result: str) -> None:
    of = {"operation": "projects_list_projects", "result": result}
    before = sample("builders_http_request_seconds_count", **of)
    await alice.get(f"/v1/builders/projects{query}")
    assert sample("builders_http_request_seconds_count", **of) == before + 1


@pytest.mark.parametrize(
    ("status", "result"), [(0, "refused"), (304, "answered"), (499, "refused"), (500, "failed"), (503, "failed")]
)
def test_each_status_has_a_result(status: int, result: str) -> None:
    before = sample("builders_http_request_seconds_count", operation="probe", result=result)
    request_metrics.count({request_metrics.OPERATION: "probe"}, status=status, seconds=0.1, waits_ms={})
    assert sample("builders_http_request_seconds_count", operation="probe", result=result) == before + 1


async def test_a_page_of_the_console_is_one_operation(anyone: Client) -> None:
    of = {"operation": "console", "result": "answered"}
    before = sample("builders_http_request_seconds_count", **of)
    response = await anyone.get("/robots.txt")
    assert response.status_code == 200
    assert sample("builders_http_request_seconds_count", **of) == before + 1


async def test_no_label_has_what_a_client_sends(anyone: Client, alice: Person) -> None:
    await anyone.get(f"/{HOSTILE}/{HOSTILE}")
    await anyone.request(HOSTILE.upper(), "/v1/me")
    await anyone.get("/v1/me", headers={"Host": f"{HOSTILE}.example", "X-API-Key": HOSTILE})
    await alice.get(f"/v1/builders/projects/{HOSTILE}")
    await alice.get(f"/v1/catalog/check?name={HOSTILE}")
    labels = {
        value for family in metrics.REGISTRY.collect() for each in family.samples for value in each.labels.values()
    }
    forbidden = (HOSTILE, str(alice.account.id), "@", "/")
    assert [each for each in labels if any(part in each.lower() for part in forbidden)] == []


def test_the_number_of_series_has_a_bound() -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    operations = len([each for each in routes if each.include_in_schema]) + 2  # the console and other paths
    of_requests = operations * RESULTS * 6  # three buckets, one of all, sum and count
    others = 64 * 15  # metrics with labels of at most 15 values, such as the lanes and the registrars
    assert of_requests + len(outbox.list_events()) + others <= MAX_SERIES


async def test_a_wait_of_less_than_a_millisecond_is_no_wait() -> None:
    noted = waits.start()
    waits.note("connection", 0.0009)
    waits.note("account", 0.2)
    waits.note("account", 0.1)
    assert noted == {"account": 300.0}
