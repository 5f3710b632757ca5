"""What is counted of requests: by operation, and never with a value that a client sends."""

from fastapi.routing import APIRoute

from builders.app import ROUTERS
from builders.kit.events import outbox
from builders.kit.process import metrics, waits
from tests.cast import Client, Person

HOSTILE = "hostile-5f0c"
MAX_SERIES = 5_000
STATUSES = 5  # classes: success, redirect, refusal, failure, no response


def sample(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def test_a_request_counts_for_its_operation_and_class_of_status(alice: Person) -> None:
    of = {"operation": "projects_list_projects"}
    counted = sample("builders_http_request_seconds_count", **of, status="2xx")
    refused = sample("builders_http_request_seconds_count", **of, status="4xx")
    timed = sample("builders_http_response_seconds_count", **of)
    await alice.get("/v1/builders/projects")
    await alice.get("/v1/builders/projects?limit=0")
    assert sample("builders_http_request_seconds_count", **of, status="2xx") == counted + 1
    assert sample("builders_http_request_seconds_count", **of, status="4xx") == refused + 1
    assert sample("builders_http_response_seconds_count", **of) == timed + 2


async def test_a_page_of_the_console_is_one_operation(anyone: Client) -> None:
    before = sample("builders_http_response_seconds_count", operation="console")
    await anyone.get("/console/sign-in")
    assert sample("builders_http_response_seconds_count", operation="console") == before + 1


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
    of_requests = operations * (2 * STATUSES + 8)
    others = 64 * 15  # metrics with labels of at most 15 values, such as the lanes and the registrars
    assert of_requests + len(outbox.list_events()) + others <= MAX_SERIES


async def test_a_wait_of_less_than_a_millisecond_is_no_wait() -> None:
    noted = waits.start()
    waits.note("connection", 0.0009)
    waits.note("account", 0.2)
    waits.note("account", 0.1)
    assert noted == {"account": 300.0}
