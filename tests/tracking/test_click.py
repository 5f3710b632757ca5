"""GET /v1/t/c/{token}: only signed targets are accepted."""

import string
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given, strategies as st

from builders.kit.values import ids
from builders.mail import links
from builders.tracking import recorder
from tests.cast import Client, Person
from tests.random_cases import cases
from tests.tracking.conftest import BASE, BROWSER, TARGET, FindEvents, SendMessage, SentMessage

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

OURS = {"X-Robots-Tag": "noindex", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
often = cases(15)


async def test_a_browser_is_redirected_to_the_target(
    anyone: Client, sent: SentMessage, find_events: FindEvents, alice: Person
) -> None:
    path, query = sent.click()
    answer = await anyone.get(path, params=query, headers=BROWSER)

    assert (answer.status_code, answer.headers["Location"]) == (302, TARGET)
    assert {name: answer.headers.get_list(name) for name in OURS} == {k: [v] for k, v in OURS.items()}
    [event] = await find_events(sent)
    assert (event["account_id"], event["kind"], event["url"], event["machine"]) == (
        alice.account.id,
        "click",
        TARGET,
        None,
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": "*/*"},
        {"Accept": "application/json"},
        {**BROWSER, "Sec-Purpose": "prefetch"},
        {**BROWSER, "User-Agent": "Mozilla/5.0 (compatible; Barracuda Sentinel)"},
    ],
)
async def test_other_clients_get_the_target_as_json(
    anyone: Client, sent: SentMessage, headers: dict[str, str]
) -> None:
    path, query = sent.click()
    answer = await anyone.get(path, params=query, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"target": TARGET})
    assert "Location" not in answer.headers
    assert {name: answer.headers.get_list(name) for name in OURS} == {k: [v] for k, v in OURS.items()}


async def test_a_percent_encoded_address_is_accepted(anyone: Client, sent: SentMessage) -> None:
    path, query = sent.click()
    for spelt in (quote(TARGET, safe=""), quote(TARGET, safe=":/?=")):
        answer = await anyone.get(f"{path}?m={query['m']}&u={spelt}", headers=BROWSER)
        assert (answer.status_code, answer.headers["Location"]) == (302, TARGET)


async def test_head_records_nothing(anyone: Client, sent: SentMessage, find_events: FindEvents) -> None:
    path, query = sent.click()
    answer = await anyone.head(path, params=query, headers=BROWSER)
    assert (answer.status_code, answer.headers["Location"]) == (302, TARGET)
    assert await find_events(sent) == []


async def test_a_link_redirects_after_its_message_is_deleted(anyone: Client, sent: SentMessage) -> None:
    minted = links.mint_links(sent.keyring, base_url=BASE, message_id=ids.new()).click(TARGET)
    answer = await anyone.get(minted, headers=BROWSER)
    assert answer.status_code == 302


async def refused(client: Client, path: str, query: dict[str, str]) -> bool:
    """Return whether the link is refused, for browsers and for other clients."""
    for headers in (BROWSER, {"Accept": "*/*"}):
        for method in ("GET", "HEAD"):
            answer = await client.request(method, path, params=query, headers=headers)
            if answer.status_code != 400 or "Location" in answer.headers:
                return False
            if method == "GET" and headers is not BROWSER and answer.json()["code"] != "link_altered":
                return False
    return True


async def test_a_link_of_another_message_is_refused(
    anyone: Client, send_message: SendMessage, sent: SentMessage, find_events: FindEvents
) -> None:
    other = await send_message()
    path, query = sent.click()
    assert await refused(anyone, other.click()[0], query)
    assert await refused(anyone, path, {**query, "m": other.click()[1]["m"]})
    assert await find_events(sent) == await find_events(other) == []


async def test_a_browser_gets_an_error_page(anyone: Client, sent: SentMessage) -> None:
    path, query = sent.click()
    evil = "https://evil.example/"
    answer = await anyone.get(path, params={**query, "u": evil}, headers=BROWSER)
    assert answer.headers["content-type"].startswith("text/html")
    assert "evil" not in answer.text


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,<script>1</script>",
        "//evil.example/",
        "\\\\evil.example/",
        "/\\evil.example",
        "/v1/me",
        "",
        "https:evil.example",
        "https:///evil.example",
        "https://builders.example@evil.example/",
        "https://builders.example\\@evil.example/",
        "https://builders.example/\r\nSet-Cookie: a=b",
        "https://builders.example/ a",
        "https://builders.example:99999/",
        "https://[::1/",
        "ftp://builders.example/",
        "file:///etc/passwd",
        " https://builders.example/",
        "https://builders.example/" + "a" * 2048,
    ],
)
async def test_a_signed_target_that_is_not_a_web_address_is_refused(
    anyone: Client, sent: SentMessage, find_events: FindEvents, target: str
) -> None:
    assert await refused(anyone, *sent.click(target))
    assert await find_events(sent) == []


@often
@given(altered=st.text(max_size=120))
@example(altered="//evil.example/")
@example(altered="javascript:alert(1)")
@example(altered=TARGET + "/")
@example(altered=TARGET.upper())
@example(altered=TARGET.replace("%C3%A4", "%c3%a4"))
async def test_another_target_is_refused(anyone: Client, sent: SentMessage, altered: str) -> None:
    assume(altered != TARGET and "\0" not in altered)
    path, query = sent.click()
    assert await refused(anyone, path, {**query, "u": altered})


@often
@given(
    at=st.integers(0, 200), to=st.sampled_from(string.printable), where=st.sampled_from("um"), cut=st.booleans()
)
async def test_a_changed_character_is_refused(
    anyone: Client, sent: SentMessage, at: int, to: str, where: str, *, cut: bool
) -> None:
    path, query = sent.click()
    text = query[where]
    at %= len(text)
    altered = text[:at] + to + text[at + cut :]
    assume(altered not in {text, text.rstrip("=")})  # padding has no meaning
    assert await refused(anyone, path, {**query, where: altered})


@often
@given(at=st.integers(0, 47), to=st.sampled_from(string.ascii_letters + string.digits + "-_.~"))
async def test_another_token_is_refused(anyone: Client, sent: SentMessage, at: int, to: str) -> None:
    query = sent.click()[1]
    altered = sent.token[:at] + to + sent.token[at + 1 :]
    assume(altered != sent.token)
    assert await refused(anyone, f"/v1/t/c/{altered}", query)


@given(st.text(max_size=60))
def test_a_web_address_starts_with_http(text: str) -> None:
    for target in (text, f"https:{text}", f"https://{text}"):
        if recorder.is_web_address(target):
            assert target.startswith(("http://", "https://"))
            assert not set(target) & set("\\ \t\r\n")


@pytest.mark.parametrize("missing", ["u", "m"])
async def test_both_parameters_are_required(anyone: Client, sent: SentMessage, missing: str) -> None:
    path, query = sent.click()
    del query[missing]
    answer = await anyone.get(path, params=query, headers={"Accept": "*/*"})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", missing]
