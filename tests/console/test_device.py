"""Connect a machine: a person types its code, sees what it claims, and chooses the keys."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from builders.kit.values import clock
from tests.browser import OWN
from tests.cast import Client, Person
from tests.console.visitor import Visitor, fields_of, heading

Visit = Callable[[Person], Awaitable[Visitor]]
DEVICE = "/v1/auth/device"


async def ask(client: Client, **wanted: Any) -> dict[str, Any]:
    answer = await client.post(f"{DEVICE}/authorize", json={"host": "ada-laptop"} | wanted)
    codes: dict[str, Any] = answer.json()
    return codes


async def typed(browser: Visitor, code: str) -> Any:
    """Type a code on the page; return the next page."""
    return await browser.submit(await browser.open("/console/device"), "device-find", user_code=code)


async def collect(client: Client, codes: dict[str, Any]) -> list[dict[str, Any]]:
    clock.move(timedelta(seconds=5))
    answer = await client.post(f"{DEVICE}/token", json={"device_code": codes["device_code"]})
    assert answer.status_code == 200, answer.text
    keys: list[dict[str, Any]] = answer.json()["keys"]
    return keys


async def test_a_person_connects_their_machine(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    shown = await typed(browser, codes["user_code"])
    assert "ada-laptop" in shown.text
    assert "not verified" in shown.text
    after = await browser.submit(shown, "device-approve")

    assert "Approved. Go back to the terminal." in after.text
    [key] = await collect(anyone, codes)
    assert (key["key_kind"], key["preset"]) == ("test", "developer_full")
    assert "bld on ada-laptop" in (await browser.open("/console/keys")).text


async def test_a_person_chooses_the_keys(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    shown = await typed(browser, codes["user_code"])
    both = ["developer_full", "domainer_full"]
    await browser.submit(shown, "device-approve", test_presets=both, live_preset="domainer_full")

    kinds = [(each["key_kind"], each["preset"]) for each in await collect(anyone, codes)]
    assert kinds == [("test", "developer_full"), ("test", "domainer_full"), ("live", "domainer_full")]


async def test_a_person_gives_an_agent_a_mandate(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone, scope="developer_full agent")
    shown = await typed(browser, codes["user_code"])
    await browser.submit(shown, "device-agent", toolsets=["names"])
    [key] = await collect(anyone, codes)
    assert (key["mandate"]["toolsets"], key["mandate"]["read_only"]) == (["names"], True)


async def test_an_agent_gets_no_key_without_a_mandate(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone, scope="developer_full agent")
    request_id = (await typed(browser, codes["user_code"])).url.path.rpartition("/")[2]
    body = {"decision": "approve", "test_presets": ["developer_full"]}
    headers = {"Origin": OWN, "Accept": "application/json"}
    answer = await browser.post(f"{DEVICE}/requests/{request_id}/decision", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "no_mandate")


async def test_a_live_key_is_never_chosen_beforehand(browser: Visitor, anyone: Client) -> None:
    shown = await typed(browser, (await ask(anyone, scope="domainer_full live"))["user_code"])

    fields = fields_of(shown, "device-approve")
    assert (fields["live_preset"], fields["test_presets"]) == ("", "domainer_full")
    assert "a live key" in shown.text


async def test_an_approval_without_a_key_is_explained(browser: Visitor, anyone: Client) -> None:
    shown = await typed(browser, (await ask(anyone))["user_code"])
    after = await browser.submit(shown, "device-approve", test_presets=[])

    assert after.status_code == 422
    assert "Choose at least one key." in after.text


async def test_a_person_denies_a_machine(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    after = await browser.submit(await typed(browser, codes["user_code"]), "device-deny")
    refused = await anyone.post(f"{DEVICE}/token", json={"device_code": codes["device_code"]})

    assert heading(after) == "Keys for a machine denied"
    assert refused.json()["error"] == "access_denied"


async def test_an_approval_is_taken_back_before_the_keys_are_collected(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    approved = await browser.submit(await typed(browser, codes["user_code"]), "device-approve")
    after = await browser.submit(approved, "device-deny")
    clock.move(timedelta(seconds=5))
    refused = await anyone.post(f"{DEVICE}/token", json={"device_code": codes["device_code"]})

    assert heading(after) == "Keys for a machine denied"
    assert refused.json()["error"] == "access_denied"


async def test_collected_keys_are_not_taken_back(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    approved = await browser.submit(await typed(browser, codes["user_code"]), "device-approve")
    await collect(anyone, codes)
    after = await browser.submit(approved, "device-deny")

    assert after.status_code == 409


async def test_a_wrong_code_is_explained_beside_the_field(browser: Visitor) -> None:
    after = await typed(browser, "2222-2222")

    assert after.status_code == 422
    assert 'aria-invalid="true"' in after.text
    assert "Tries left in this session: 4." in after.text


async def test_the_sixth_wrong_code_asks_to_sign_in_again(browser: Visitor) -> None:
    for _ in range(5):
        await typed(browser, "2222-2222")

    assert "Sign in again" in (await typed(browser, "2222-2222")).text


async def test_an_old_session_leads_to_signing_in(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    clock.move(timedelta(minutes=11))
    after = await typed(browser, codes["user_code"])

    assert after.status_code == 401
    assert "/v1/auth/login?return_to=/console/device" in after.text


async def test_the_page_of_a_request_needs_its_code(
    browser: Visitor, visit: Visit, bob: Person, anyone: Client
) -> None:
    shown = await typed(browser, (await ask(anyone))["user_code"])

    await browser.open(shown.url.path)
    await (await visit(bob)).open(shown.url.path, 404)


async def test_an_address_cannot_contain_the_code(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    page = await browser.open(f"/console/device?user_code={codes['user_code']}")

    assert fields_of(page, "device-find")["user_code"] == ""


async def test_the_address_of_the_machine_is_compared(browser: Visitor, anyone: Client) -> None:
    codes = await ask(anyone)
    shown = await typed(browser, codes["user_code"])

    assert "the address of this browser" in shown.text


async def test_no_machine_is_connected_in_the_sandbox(browser: Visitor) -> None:
    page = await browser.open("/console/test/device")

    assert "outside the sandbox" in page.text
    assert "device-find" not in page.text


async def test_support_gets_no_further(alice: Person, anyone: Client) -> None:
    codes = await ask(anyone)
    async with Visitor(alice, await alice.admit_support(may_write=True)) as support:
        page = await support.open("/console/device")
        after = await support.submit(page, "device-find", user_code=codes["user_code"])

    assert after.status_code == 403


@pytest.mark.parametrize("host", ["<script>alert(1)</script>", '" autofocus onfocus="alert(1)', "{{ 7*7 }}"])
async def test_the_claimed_name_stays_text(browser: Visitor, anyone: Client, host: str) -> None:
    shown = await typed(browser, (await ask(anyone, host=host))["user_code"])

    assert "<script>alert" not in shown.text
    assert "onfocus=" not in shown.text
    assert ">49<" not in shown.text
