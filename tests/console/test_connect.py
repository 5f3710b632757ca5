"""Connect a program: the page of the request, the decision, the connections."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from tests.cast import Person, make_person
from tests.console.visitor import Visitor, fields_of, heading
from tests.identity.oauth.program import LOOPBACK, URL, Program, Publisher, answer_of, publishing
from tests.mcp_server.make import message, post
from tests.plans import make
from tests.webhooks import make as webhooks
from tests.worker import Worker


@pytest.fixture(scope="module")
async def publisher(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Publisher]:
    """Run the server of a program's description."""
    async with publishing(tmp_path_factory.mktemp("program")) as running:
        yield running


@pytest.fixture(scope="module")
async def reading(settings: Settings, publisher: Publisher) -> AsyncIterator[Service]:
    """Run a service that may read the description."""
    allowed = (f"127.0.0.1:{publisher.receiver.port}",)
    app = create_app(settings.model_copy(update={"outbound_allow": allowed, "outbound_ca": publisher.ca}))
    async with lifespan(app.api):
        yield app


@pytest.fixture
async def ada(reading: Service) -> AsyncIterator[Person]:
    """Return a person of that service."""
    person = await make_person(reading, name="ada", preset=Preset.DEVELOPER_FULL)
    yield person
    await person.aclose()


@pytest.fixture
async def program(reading: Service, publisher: Publisher, ada: Person) -> AsyncIterator[Program]:
    """Return the program that Ada uses, with her browser."""
    async with Visitor(ada, await ada.sign_in()) as browser:
        made = Program(reading, publisher, browser)
        async with made.client:
            yield made


async def open_page(program: Program, **changed: Any) -> httpx.Response:
    """Begin a request in the browser, which keeps its cookie; return the page of the request."""
    request_id = (await program.begin(**changed)).rpartition("/")[2]
    secret = program.browser.cookies["svc_authorize"]
    session = program.browser.headers["Cookie"].partition(";")[0]
    program.browser.headers["Cookie"] = f"{session}; svc_authorize={secret}"
    return await visitor(program).open(f"/console/connect/{request_id}")


def visitor(program: Program) -> Visitor:
    """Return Ada's browser."""
    assert isinstance(program.browser, Visitor)
    return program.browser


def redirect_of(page: httpx.Response) -> dict[str, str]:
    """Return the parameters with which the page leads back to the program."""
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', page.text)
    assert found is not None, page.text
    assert found[1].startswith(LOOPBACK)
    return answer_of(found[1].replace("&amp;", "&"))


async def test_the_page_begins_with_the_account_and_who_gets_the_answer(program: Program, ada: Person) -> None:
    text = (await open_page(program)).text

    places = [
        text.index(each) for each in (">Account<", "a program on this computer", "Ada s Editor", "not checked")
    ]
    assert places == sorted(places)
    assert ada.account.email.partition("@")[0] in text


async def test_the_page_shows_the_host_of_an_address_of_the_web(program: Program, publisher: Publisher) -> None:
    page = await open_page(program, redirect_uri=f"https://127.0.0.1:{publisher.receiver.port}/callback")

    assert "a program on this computer" not in page.text
    assert "<strong><bdi>127.0.0.1</bdi></strong>" in page.text


async def test_nothing_is_chosen_beforehand(program: Program) -> None:
    fields = fields_of(await open_page(program, scope="names plans mail money"), "connect-allow")

    assert "toolsets" not in fields
    assert "outward" not in fields
    assert (fields["key_kind"], fields["read_only"], fields["expires_in_days"]) == ("test", "true", "30")
    assert fields["max_total_per_plan"] == fields["max_total_per_30_days"] == ""


async def test_a_person_connects_a_program(program: Program) -> None:
    page = await open_page(program)
    after = await visitor(program).submit(page, "connect-allow", toolsets=["names", "plans"])
    answer = await program.redeem(redirect_of(after)["code"])

    assert heading(after) == "Connected"
    assert answer.json()["scope"] == "names plans"


async def test_a_person_gives_amounts(program: Program) -> None:
    page = await open_page(program)
    chosen = {
        "toolsets": ["plans"],
        "key_kind": "live",
        "read_only": "false",
        "expires_in_days": "7",
        "max_total_per_plan": "20.00 USD",
        "max_total_per_30_days": "60.00 USD\n40 EUR",
        "deletes_per_plan": "1",
        "deletes_per_30_days": "3",
    }
    await visitor(program).submit(page, "connect-allow", **chosen)
    [made] = (await program.browser.get("/v1/auth/connections", headers={"Accept": "application/json"})).json()[
        "items"
    ]

    assert made["key_kind"] == "live"
    assert made["mandate"]["max_total_per_plan"] == [{"amount": "20.00", "currency": "USD"}]
    assert made["mandate"]["deletes_per_30_days"] == 3
    assert made["left"] == [{"amount": "60.00", "currency": "USD"}, {"amount": "40.00", "currency": "EUR"}]


async def test_a_person_refuses_a_program(program: Program) -> None:
    after = await visitor(program).submit(await open_page(program), "connect-deny")

    assert heading(after) == "Refused"
    assert redirect_of(after) == {"error": "access_denied", "state": program.state, "iss": URL}


async def test_a_choice_of_nothing_is_explained(program: Program) -> None:
    after = await visitor(program).submit(await open_page(program), "connect-allow")

    assert after.status_code == 422
    assert heading(after) == "Connect a program"


async def test_the_page_warns_where_mail_meets_other_places(program: Program) -> None:
    assert "it can give away what it reads" in (await open_page(program)).text


async def test_the_pages_send_no_referrer_and_are_in_no_frame(program: Program) -> None:
    page = await open_page(program)
    after = await visitor(program).submit(page, "connect-deny")

    for each in (page, after):
        assert '<meta name="referrer" content="no-referrer">' in each.text
        assert "frame-ancestors 'none'" in each.headers["content-security-policy"]
        assert "<img" not in each.text


async def test_a_browser_that_hides_its_origin_can_decide(program: Program) -> None:
    page = await open_page(program)
    program.browser.headers["Sec-Fetch-Site"] = "same-origin"
    fields = fields_of(page, "connect-deny")
    after = await visitor(program).post_form("/console/do/connect-deny", fields, origin="null")

    assert heading(after) == "Refused"


@pytest.mark.parametrize("sent", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {}])
async def test_another_site_cannot_decide(program: Program, sent: dict[str, str]) -> None:
    fields = fields_of(await open_page(program), "connect-allow") | {"toolsets": ["names"]}
    after = await program.browser.post("/console/do/connect-allow", data=fields, headers=sent)

    assert after.status_code == 403


async def test_a_form_of_another_session_is_refused(program: Program) -> None:
    fields = fields_of(await open_page(program), "connect-allow") | {"toolsets": ["names"], "_csrf": "x"}

    assert (await visitor(program).post_form("/console/do/connect-allow", fields)).status_code == 403


async def test_an_error_is_told_to_the_program_only_by_the_person(program: Program) -> None:
    page = await open_page(program, code_challenge_method="plain")

    assert "http-equiv" not in page.text
    assert "connect-allow" not in page.text
    assert "error=invalid_request" in page.text


async def test_a_request_is_not_decided_in_the_sandbox_or_in_a_team(program: Program, ada: Person) -> None:
    where = (await open_page(program)).url.path.removeprefix("/console/")

    await visitor(program).open(f"/console/test/{where}", 403)
    await visitor(program).open(f"/console/of/{ada.account.sandbox_id}/{where}", 404)


async def test_the_inbox_shows_what_this_browser_began(program: Program, ada: Person) -> None:
    page = await open_page(program)
    assert page.url.path in (await visitor(program).open("/console")).text
    async with Visitor(ada, await ada.sign_in()) as other:
        assert "/console/connect/" not in (await other.open("/console")).text


async def test_a_person_revokes_a_connection(program: Program) -> None:
    after = await visitor(program).submit(await open_page(program), "connect-allow", toolsets=["names"])
    tokens = (await program.redeem(redirect_of(after)["code"])).json()
    page = await visitor(program).open("/console/connections")
    assert "Ada s Editor" in page.text
    done = await visitor(program).submit(page, "connection-revoke")

    assert "The connection is revoked." in done.text
    assert (await program.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_a_program_works_at_mcp_until_the_person_revokes_it(program: Program) -> None:
    after = await visitor(program).submit(await open_page(program), "connect-allow", toolsets=["names"])
    token = (await program.redeem(redirect_of(after)["code"])).json()["access_token"]
    search = message("tools/call", name="search_names", arguments={"words": "ada"})
    found = await post(program.service, search, Authorization=f"Bearer {token}")
    assert found.json()["result"]["isError"] is False
    await visitor(program).submit(await visitor(program).open("/console/connections"), "connection-revoke")

    assert (await post(program.service, search, Authorization=f"Bearer {token}")).status_code == 401


async def test_a_connection_among_the_keys_is_revoked_and_not_rotated(program: Program) -> None:
    await visitor(program).submit(await open_page(program), "connect-allow", toolsets=["names"])
    text = (await visitor(program).open("/console/keys")).text
    headers = {"Accept": "application/json"}
    keys = (await program.browser.get("/v1/api-keys", headers=headers)).json()["items"]

    assert [text.count(f"do/{form}") for form in ("key-revoke", "key-rotate")] == [len(keys), len(keys) - 1]


async def test_a_connection_is_among_those_who_can_read_mail(program: Program, ada: Person, domain: str) -> None:
    name = await make.get_alias(ada, await make.apply(ada, make.alias(f"ada@{domain}")))
    hook = await webhooks.create(ada, events=["invoice.created"])
    chosen = {"toolsets": ["mail"], "key_kind": "live"}
    await visitor(program).submit(await open_page(program), "connect-allow", **chosen)
    headers = {"Accept": "application/json"}
    [made] = (await program.browser.get("/v1/auth/connections", headers=headers)).json()["items"]
    page = await visitor(program).open(f"/console/names/{name['id']}")
    assert "Ada s Editor (program)" in page.text
    await visitor(program).submit(page, "reception-set", webhook_id=hook["id"], key_id=made["id"])

    assert (await ada.get(f"/v1/aliases/{name['id']}/receive-as-event")).json()["key_id"] == made["id"]


async def test_the_account_is_told_of_a_connection(program: Program, ada: Person, settings: Settings) -> None:
    await visitor(program).submit(await open_page(program), "connect-allow", toolsets=["names"])
    found = await Worker(program.service.api.state.database, settings).list_emails(ada.account.email)

    [mail] = [each for each in found if each["Subject"] == "A program was connected: Ada s Editor"]
    body = mail.get_body(("plain",))
    assert body is not None
    assert "test, read-only: names" in " ".join(body.get_content().split())


@pytest.mark.parametrize("kept", [False, True])
async def test_the_first_policy_keeps_the_connections_that_are_ticked(program: Program, *, kept: bool) -> None:
    after = await visitor(program).submit(await open_page(program), "connect-allow", toolsets=["names"])
    tokens = (await program.redeem(redirect_of(after)["code"])).json()
    page = await visitor(program).open("/console/approval")
    assert "Ada s Editor" in page.text
    headers = {"Accept": "application/json"}
    [made] = (await program.browser.get("/v1/auth/connections", headers=headers)).json()["items"]
    chosen = {"connections": [made["id"]]} if kept else {}
    await visitor(program).submit(page, "policy-change", require="always", **chosen)

    assert (await program.refresh(tokens["refresh_token"])).status_code == (200 if kept else 400)
