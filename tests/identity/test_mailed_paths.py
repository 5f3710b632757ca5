"""A mailed link never leads to a page of decisions: whoever asks for a mail chooses where its link leads."""

import pytest

from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox

LOGIN = "/v1/auth/login"
REQUEST = "/console/connect/0193a1b2-0000-7000-8000-0000000000e1"
DECISIONS = [
    REQUEST,
    "/console/device",
    "/console/device/0193a1b2-0000-7000-8000-0000000000e1",
    "/console/approval",
    "/console/plans/0193a1b2-0000-7000-8000-0000000000e1?x=1",
    "/console/test/plans/1",
    "/console/of/0193a1b2-0000-7000-8000-0000000000e1/approval",
    "/console/account",
    "/console/./connect/1",
    "/console/names/../connect/1",
    "/console/names/%2e%2e/connect/1",
    "/console/%63onnect/1",
    "/oauth/authorize?client_id=x",
    f"{LOGIN}?return_to={REQUEST}",
]


async def sign_in(anyone: Client, address: str, postbox: Postbox, path: str, *, by_link: bool) -> str:
    """Sign in with the button of the mailed link, or with its code; return where the browser goes."""
    await anyone.post(LOGIN, json={"email": address, "return_to": path})
    message = await postbox.newest_for(address)
    proof = {"token": message.token} if by_link else {"email": address, "code": message.code}
    form = {**proof, "return_to": path}
    headers = {"Accept": ACCEPT, "Origin": "http://builders.test"}
    answer = await anyone.post(f"{LOGIN}/page", data=form, headers=headers)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


@pytest.mark.parametrize("path", DECISIONS)
async def test_a_link_leads_to_the_console_instead(
    anyone: Client, alice: Person, postbox: Postbox, path: str
) -> None:
    assert await sign_in(anyone, alice.account.email, postbox, path, by_link=True) == "/console"


@pytest.mark.parametrize("path", ["/console/names", "/console/invoices?cursor=x", "/v1/invoices"])
async def test_a_link_leads_to_other_pages(anyone: Client, alice: Person, postbox: Postbox, path: str) -> None:
    assert await sign_in(anyone, alice.account.email, postbox, path, by_link=True) == path


async def test_a_code_leads_where_its_browser_was(anyone: Client, alice: Person, postbox: Postbox) -> None:
    assert await sign_in(anyone, alice.account.email, postbox, REQUEST, by_link=False) == REQUEST
