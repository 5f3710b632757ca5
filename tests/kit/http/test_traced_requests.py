"""The span of a request: named after its operation, and without what a client sends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx
import pytest

from builders.app import Service
from builders.kit.http.traced_requests import TracedRequests
from builders.kit.process import traces
from tests.cast import Person
from tests.collector import Collector, Received, collecting, tracing

HOSTILE = "hostile-5f0c"
UNSAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
SAMPLED = UNSAMPLED.removesuffix("0") + "1"
REMOTE_ID = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


class Traced:
    """A client of the traced service, and the spans of its requests."""

    def __init__(self, service: Service, trusted: tuple[str, ...] = ()) -> None:
        self.app = TracedRequests(service, trusted)
        self.collector = Collector()

    @contextmanager
    def tracing(self) -> Iterator[None]:
        with collecting() as self.collector, tracing(self.collector.url):
            yield

    async def send(self, path: str, method: str, headers: Mapping[str, str]) -> None:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://builders.test") as client:
            await client.request(method, path, headers=headers)

    async def get(self, path: str, method: str = "GET", **headers: str) -> Received:
        with self.tracing():
            await self.send(path, method, headers)
        (found,) = [each for each in self.collector.spans if not each.parent_id or each.parent_id == REMOTE_ID[1]]
        return found


@pytest.fixture
def traced(service: Service) -> Traced:
    return Traced(service)


async def test_a_span_has_operation_method_status_and_request(traced: Traced, alice: Person) -> None:
    key = alice.key
    found = await traced.get("/v1/builders/projects?limit=5", **{"X-API-Key": key, "X-Request-ID": "request-1"})
    assert found.name == "projects_list_projects"
    assert found.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "builders.request_id": "request-1",
    }


@pytest.mark.parametrize("sent", [UNSAMPLED, SAMPLED])
async def test_the_span_of_a_client_is_linked_and_not_followed(traced: Traced, sent: str) -> None:
    found = await traced.get("/livez", traceparent=sent)
    assert (found.parent_id, found.linked) == ("", [REMOTE_ID])
    assert found.trace_id != REMOTE_ID[0]


async def test_the_span_of_a_trusted_proxy_is_followed(service: Service) -> None:
    found = await Traced(service, ("127.0.0.0/8",)).get("/livez", traceparent=SAMPLED)
    assert (found.trace_id, found.parent_id, found.linked) == (*REMOTE_ID, [])


async def test_a_trusted_proxy_decides_what_is_sampled(service: Service) -> None:
    traced = Traced(service, ("127.0.0.1",))
    with traced.tracing():
        await traced.send("/livez", "GET", {"traceparent": UNSAMPLED})
    assert traced.collector.spans == []


async def test_a_malformed_span_of_a_client_is_ignored(traced: Traced) -> None:
    found = await traced.get("/livez", traceparent=f"{SAMPLED}-{HOSTILE}")
    assert (found.parent_id, found.linked) == ("", [])


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        (f"/{HOSTILE}/{HOSTILE}?{HOSTILE}={HOSTILE}", "GET", {}),
        (f"/v1/builders/projects/{HOSTILE}", "GET", {"X-API-Key": HOSTILE, "Cookie": f"builders={HOSTILE}"}),
        ("/v1/me", HOSTILE.upper(), {"Host": f"{HOSTILE}.example", "User-Agent": HOSTILE, "Referer": HOSTILE}),
        (
            "/livez",
            "GET",
            {"tracestate": f"{HOSTILE}={HOSTILE}", "baggage": f"a={HOSTILE}", "traceparent": SAMPLED},
        ),
        (
            f"/v1/catalog/check?name={HOSTILE}",
            "GET",
            {"X-Forwarded-For": HOSTILE, "Authorization": f"Bearer {HOSTILE}"},
        ),
    ],
)
async def test_nothing_that_a_client_sends_is_in_a_span(
    traced: Traced, path: str, method: str, headers: dict[str, str]
) -> None:
    await traced.get(path, method, **headers)
    assert HOSTILE.encode() not in b"".join(traced.collector.bodies).lower()


async def test_each_attribute_is_a_listed_one(traced: Traced, alice: Person) -> None:
    await traced.get("/v1/me", **{"X-API-Key": alice.key})
    found = {name for each in traced.collector.spans for name in each.attributes}
    assert found <= {*traces.ATTRIBUTES.values()}
