"""Signing in as a person does: the form, the code or the link, and back to where they wanted to go."""

import html
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from tests.browser import ACCEPT, OWN
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox

LOGIN = "/v1/auth/login"
WANTED = "/v1/aliases?q=a%20b"
BROWSER = {"Accept": ACCEPT, "Origin": OWN, "Content-Type": "application/x-www-form-urlencoded"}
_FORM = re.compile(r'(?s)<form method="post" action="([^"]+)">(.*?)</form>')
_INPUT = re.compile(r"<input [^>]*>")


def read_form(page: httpx.Response) -> tuple[str, dict[str, str]]:
    """Where the page's form posts to, and what is filled in already."""
    found = _FORM.search(page.text)
    assert found is not None, page.text
    fields: dict[str, str] = {}
    for each in _INPUT.findall(found[2]):
        attributes = dict(re.findall(r'([a-z-]+)="([^"]*)"', each))
        fields[attributes["name"]] = html.unescape(attributes["value"])
    return found[1], fields


async def fill_in(client: Client, page: httpx.Response, **fields: str) -> httpx.Response:
    """What the form leads to with these fields filled in."""
    action, given = read_form(page)
    assert fields.keys() <= given.keys()
    return await client.post(action, content=urlencode({**given, **fields}), headers=BROWSER)


async def test_the_code_leads_back_to_where_the_person_wanted_to_go(
    anyone: Client, alice: Person, postbox: Postbox
) -> None:
    refused = await anyone.get(WANTED, headers={"Accept": ACCEPT})
    asked = await fill_in(anyone, refused, email=f" {alice.account.email.upper()}")
    message = await postbox.newest_for(alice.account.email)
    wrong = await fill_in(anyone, asked, code="2222-2222")
    answer = await fill_in(anyone, wrong, code=message.code)

    assert (refused.status_code, asked.status_code, wrong.status_code) == (401, 200, 400)
    assert 'role="alert"' in wrong.text
    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-store", "Accept")
    assert (await anyone.get(answer.headers["location"], headers={"Accept": ACCEPT})).status_code == 200


async def test_the_link_leads_back_too(anyone: Client, alice: Person, postbox: Postbox) -> None:
    refused = await anyone.get(WANTED, headers={"Accept": ACCEPT})
    await fill_in(anyone, refused, email=alice.account.email)
    link = (await postbox.newest_for(alice.account.email)).link
    answer = await fill_in(anyone, await anyone.get(link, headers={"Accept": ACCEPT}))

    assert parse_qs(urlsplit(link).query)["return_to"] == [WANTED]
    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)


async def test_the_form_is_there_to_be_typed(anyone: Client, alice: Person) -> None:
    page = await anyone.get(LOGIN, headers={"Accept": ACCEPT})
    asked = await fill_in(anyone, page, email=alice.account.email)

    assert page.text.count("<label for=") == page.text.count('type="email"') == 1
    assert (asked.status_code, "Check your email" in asked.text) == (200, True)
    assert (await anyone.get(LOGIN)).status_code == 422


async def test_the_page_is_the_same_without_an_account(anyone: Client, alice: Person) -> None:
    page = await anyone.get(LOGIN, headers={"Accept": ACCEPT})
    answers = [
        (await fill_in(anyone, page, email=email)).text.replace(email, "")
        for email in (alice.account.email, "nobody-at-all@example.net")
    ]

    assert answers[0] == answers[1]


@pytest.mark.parametrize("email", ["nobody", '"><script>alert(1)</script>', "a@" + "x" * 300])
async def test_a_wrong_address_is_corrected_in_the_same_form(
    anyone: Client, alice: Person, postbox: Postbox, email: str
) -> None:
    refused = await anyone.get(WANTED, headers={"Accept": ACCEPT})
    wrong = await fill_in(anyone, refused, email=email)

    assert (wrong.status_code, wrong.headers["content-type"]) == (422, "text/html; charset=utf-8")
    assert 'role="alert"' in wrong.text
    assert "<script>" not in wrong.text
    assert read_form(wrong) == (LOGIN, {"return_to": WANTED, "email": email})
    asked = await fill_in(anyone, wrong, email=alice.account.email)
    answer = await fill_in(anyone, asked, code=(await postbox.newest_for(alice.account.email)).code)
    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)


@pytest.mark.parametrize("form", [{"email": "nobody", "code": "x"}, {"email": "a@example.net"}, {}])
async def test_a_form_that_cannot_be_read_leads_to_one_that_can(anyone: Client, form: dict[str, str]) -> None:
    sent = {**form, "return_to": WANTED}
    answer = await anyone.post(f"{LOGIN}/page", content=urlencode(sent), headers=BROWSER)

    assert answer.status_code == 422
    assert read_form(answer) == (LOGIN, {"return_to": WANTED, "email": form.get("email", "")})


async def test_a_refused_form_keeps_no_path_of_another_site(anyone: Client) -> None:
    for path in (LOGIN, f"{LOGIN}/page"):
        form = urlencode({"email": "nobody", "return_to": "//evil.example"})
        answer = await anyone.post(path, content=form, headers=BROWSER)
        assert read_form(answer) == (LOGIN, {"email": "nobody"})


@pytest.mark.parametrize(
    "elsewhere",
    [
        *("https://evil.example/", "//evil.example", "/\\evil.example", "\\/evil.example", "/ /evil.example"),
        *("/\t/evil.example", "/\n/evil.example", "javascript:alert(1)", "evil.example", "", "/x\\y"),
        *("/é", "/x\r\nSet-Cookie: a=b", "/" + "x" * 1000, " /x"),
    ],
)
async def test_a_redirect_never_leads_to_another_site(
    anyone: Client, alice: Person, postbox: Postbox, elsewhere: str
) -> None:
    page = await anyone.get(LOGIN, params={"return_to": elsewhere}, headers={"Accept": ACCEPT})
    assert "return_to" not in read_form(page)[1]
    asked = await anyone.post(LOGIN, json={"email": alice.account.email, "return_to": elsewhere})
    assert asked.status_code == 422
    message = await postbox.ask(anyone, alice.account.email)
    opened = await anyone.get(message.link, params={"token": message.token, "return_to": elsewhere})
    assert "return_to" not in read_form(opened)[1]
    form = {"email": alice.account.email, "code": message.code, "return_to": elsewhere}
    answer = await anyone.post(f"{LOGIN}/page", data=form, headers=BROWSER)

    assert (answer.status_code, answer.headers["location"]) == (303, "/console")


async def test_a_form_of_another_site_asks_for_no_code(anyone: Client, alice: Person) -> None:
    form = {"email": alice.account.email}
    for headers in ({"Origin": "https://evil.example"}, {"Origin": OWN, "Sec-Fetch-Site": "cross-site"}):
        answer = await anyone.post(LOGIN, data=form, headers={"Accept": ACCEPT, **headers})
        assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")


async def test_programs_may_send_the_form_and_get_json(anyone: Client, alice: Person) -> None:
    answer = await anyone.post(LOGIN, data={"email": alice.account.email})

    assert (answer.status_code, answer.json()["status"]) == (200, "sent")


async def test_a_nul_in_a_form_is_refused(anyone: Client) -> None:
    for path in (LOGIN, f"{LOGIN}/page"):
        assert (await anyone.post(path, data={"email": "a\0@example.net", "code": "\0"})).status_code == 422


async def test_the_console_knows_who_is_signed_in_until_they_sign_out(anyone: Client, alice: Person) -> None:
    anyone.cookies.set("svc_access_token", (await alice.sign_in()).token)
    home = await anyone.get("/console", headers={"Accept": ACCEPT})
    elsewhere = await anyone.post("/v1/auth/logout", headers={**BROWSER, "Origin": "https://evil.example"})
    out = await fill_in(anyone, home)

    assert alice.account.email in home.text.replace("<wbr>", "")
    assert (elsewhere.status_code, elsewhere.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert (out.status_code, "You are signed out" in out.text) == (200, True)
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert (await anyone.get("/console", headers={"Accept": ACCEPT})).status_code == 401
