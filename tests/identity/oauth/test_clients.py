"""The description of a program: when it is fetched, and which one is accepted."""

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from builders.app import Service
from builders.identity.oauth.clients import MAX_BYTES, TOTAL_S, Admit, Client as Described, ClientDocuments
from builders.kit.values import clock
from tests.cast import Person, replaced
from tests.identity.oauth.program import Program, Publisher, browsing

PRIVATE = [
    "https://10.0.0.1/program.json",
    "https://169.254.169.254/latest/meta-data",
    "https://[::1]/program.json",
    "https://127.0.0.1:1/program.json",
    "https://localhost/program.json",
    "https://builders.test/program.json",
]
MALFORMED = [
    "http://editor.example/program.json",
    "https://editor.example",
    "https://editor.example/",
    "https://editor.example/program.json?v=1",
    "https://editor.example/program.json#x",
    "https://ada:secret@editor.example/program.json",
    "https://editor.example/a/../program.json",
    "https://EDITOR.example/program.json",
    "https://editor.example:443/program.json",
    "editor",
    "9f86d081884c7d65",
]


async def opened(program: Program, **changed: Any) -> httpx.Response:
    return await program.browser.get(await program.begin(**changed))


async def test_the_person_sees_who_asks(program: Program, publisher: Publisher) -> None:
    found = (await opened(program)).json()

    assert found["client_id"] == publisher.client_id
    assert found["client_host"] == "127.0.0.1"
    assert found["client_name"] == "Ada s Editor"


async def test_nothing_is_fetched_without_a_person(program: Program, publisher: Publisher) -> None:
    path = await program.begin(program.client)
    assert (await program.client.get(path)).status_code == 401
    await program.redeem("unknown")

    assert publisher.fetches == 0


async def test_a_description_is_kept_for_a_day(program: Program, publisher: Publisher, alice: Person) -> None:
    await opened(program)
    await opened(program)
    assert publisher.fetches == 1
    for after, fetches in ((timedelta(hours=23, minutes=59), 1), (timedelta(minutes=1), 2)):
        clock.move(after)
        async with browsing(program.service, alice) as program.browser:
            await opened(program)
        assert publisher.fetches == fetches


async def test_a_failure_is_kept_for_a_minute(program: Program, publisher: Publisher) -> None:
    publisher.status = "404 Not Found"
    for _ in range(2):
        answer = await opened(program)
        assert answer.json()["code"] == "authorization_request_invalid"
        assert "add it again" in answer.json()["next_action"]
    assert publisher.fetches == 1
    publisher.reset()
    clock.move(timedelta(minutes=1))

    assert (await opened(program)).status_code == 200


@pytest.mark.parametrize("client_id", [*PRIVATE, *MALFORMED])
async def test_no_other_address_is_fetched(program: Program, publisher: Publisher, client_id: str) -> None:
    answer = await opened(program, client_id=client_id)

    assert answer.json()["code"] == "authorization_request_invalid"
    assert publisher.fetches == 0


async def test_a_redirect_is_not_followed(program: Program, publisher: Publisher) -> None:
    publisher.status = "302 Found"
    publisher.headers += f"Location: {publisher.client_id}2\r\n"

    assert (await opened(program)).json()["code"] == "authorization_request_invalid"
    assert publisher.fetches == 1


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 503)])
async def test_a_description_has_at_most_5_kb(
    program: Program, publisher: Publisher, more: int, status: int
) -> None:
    text = json.dumps(publisher.document)
    publisher.body = (text + " " * (MAX_BYTES - len(text) + more)).encode()

    assert (await opened(program)).status_code == status


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://other.example/program.json"},
        {"client_id": None},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": None},
        {"client_secret": "x"},
        {"redirect_uris": []},
        {"redirect_uris": "http://127.0.0.1/callback"},
        {"redirect_uris": ["https://other.example/callback", "com.example:/x", 7, None]},
    ],
)
async def test_another_description_is_refused(program: Program, publisher: Publisher, changed: Any) -> None:
    publisher.document |= changed

    assert (await opened(program)).json()["code"] == "authorization_request_invalid"


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 5_000, b'"x"'])
async def test_a_description_is_json(program: Program, publisher: Publisher, body: bytes) -> None:
    publisher.body = body

    assert (await opened(program)).json()["code"] == "authorization_request_invalid"


async def test_a_description_that_does_not_come_is_given_up(program: Program, publisher: Publisher) -> None:
    state = program.service.api.state
    state.client_documents = ClientDocuments(state.outbound, total_s=0.2)
    publisher.is_stalled = True

    assert (await opened(program)).json()["code"] == "client_unavailable"


def test_a_description_may_take_3_seconds() -> None:
    assert TOTAL_S == 3


async def test_a_host_is_shown_as_it_is_looked_up_and_as_it_is_read(program: Program) -> None:
    client_id = "https://xn--bcher-kva.example/program.json"

    class Known:
        async def get(self, client_id: str, *, admit: Admit) -> Described:
            del admit
            answered = f"{client_id.removesuffix('/program.json')}/callback"
            return Described(id=client_id, name="Books", redirect_uris=[answered], digest="x")

    with replaced(program.service, client_documents=Known()):
        answered = "https://xn--bcher-kva.example/callback"
        found = (await opened(program, client_id=client_id, redirect_uri=answered)).json()

    hosts = [found[f"{of}_host{form}"] for of in ("client", "redirect") for form in ("", "_unicode")]
    assert hosts == ["xn--bcher-kva.example", "bücher.example"] * 2


async def test_a_description_has_the_type_of_json(program: Program, publisher: Publisher) -> None:
    publisher.headers = "Content-Type: text/html\r\n"

    assert (await opened(program)).json()["code"] == "authorization_request_invalid"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "script alert 1 script"),
        ("Bank\u202eknaB", "Bank knaB"),
        ("x" * 200, "x" * 40),
        (7, "an unnamed program"),
        ("", "an unnamed program"),
    ],
)
async def test_a_name_is_text(program: Program, publisher: Publisher, name: Any, shown: str) -> None:
    publisher.document["client_name"] = name

    assert (await opened(program)).json()["client_name"] == shown


async def test_another_description_needs_another_look(program: Program, publisher: Publisher) -> None:
    path = await program.begin()
    digest = (await program.browser.get(path)).json()["client_digest"]
    publisher.document["redirect_uris"].append("http://127.0.0.1/other")
    state = program.service.api.state
    state.client_documents = ClientDocuments(state.outbound)  # a process that has not read it
    body = {"decision": "allow", "client_digest": digest, "mandate": {"toolsets": ["names"]}}
    answer = await program.browser.post(f"{path}/decision", json=body)

    assert answer.json()["code"] == "authorization_request_changed"


async def test_the_consent_stores_what_it_was_given_for(
    program: Program, publisher: Publisher, alice: Person
) -> None:
    path = await program.begin()
    digest = (await program.browser.get(path)).json()["client_digest"]
    await program.decide(path)
    [entry] = (await alice.get("/v1/account/audit?action=connection.approved")).json()["items"]

    assert entry["actor"]["type"] == "user"
    assert entry["about"]["client_id"] == publisher.client_id
    assert entry["about"]["client_digest"] == digest
    assert entry["about"]["redirect_host"] == "127.0.0.1:51234"


async def test_a_person_causes_20_fetches_an_hour(limited: Service, publisher: Publisher, alice: Person) -> None:
    publisher.status = "404 Not Found"
    async with browsing(limited, alice) as browser:
        program = Program(limited, publisher, browser)
        codes = []
        for number in range(21):
            path = await program.begin(client_id=f"{publisher.client_id}{number}")
            codes.append((await browser.get(path)).json()["code"])
        await program.client.aclose()

    assert codes == ["authorization_request_invalid"] * 20 + ["rate_limited"]
    assert publisher.fetches == 20
