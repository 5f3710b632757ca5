"""GET /v1/t/c/{token}: to the target that we wrote, and to no other."""

import string
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, assume, example, given, settings as trials, strategies as st

from builders.kit.values import ids
from builders.mail import service as mail
from builders.tracking import links
from tests.cast import Client, Person
from tests.tracking.conftest import BASE, BROWSER, TARGET, Hits, Mailed, Make

pytestmark = pytest.mark.usefixtures("no_mail_jobs")

OURS = {"X-Robots-Tag": "noindex", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
often = trials(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


async def test_a_browser_is_sent_to_the_target(anyone: Client, mailed: Mailed, hits: Hits, alice: Person) -> None:
    path, query = mailed.click()
    answer = await anyone.get(path, params=query, headers=BROWSER)

    assert (answer.status_code, answer.headers["Location"]) == (302, TARGET)
    assert {name: answer.headers.get_list(name) for name in OURS} == {k: [v] for k, v in OURS.items()}
    [hit] = await hits(mailed)
    assert (hit["account_id"], hit["kind"], hit["url"], hit["machine"]) == (
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
async def test_everything_else_is_told_the_target(anyone: Client, mailed: Mailed, headers: dict[str, str]) -> None:
    path, query = mailed.click()
    answer = await anyone.get(path, params=query, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"target": TARGET})
    assert "Location" not in answer.headers
    assert {name: answer.headers.get_list(name) for name in OURS} == {k: [v] for k, v in OURS.items()}


async def test_the_mail_program_may_spell_the_address_in_another_way(anyone: Client, mailed: Mailed) -> None:
    path, query = mailed.click()
    for spelt in (quote(TARGET, safe=""), quote(TARGET, safe=":/?=")):
        answer = await anyone.get(f"{path}?m={query['m']}&u={spelt}", headers=BROWSER)
        assert (answer.status_code, answer.headers["Location"]) == (302, TARGET)


async def test_head_shows_the_way_and_counts_nothing(anyone: Client, mailed: Mailed, hits: Hits) -> None:
    path, query = mailed.click()
    answer = await anyone.head(path, params=query, headers=BROWSER)
    assert (answer.status_code, answer.headers["Location"]) == (302, TARGET)
    assert await hits(mailed) == []


async def test_a_link_outlives_its_message(anyone: Client, mailed: Mailed) -> None:
    minted = mail.mint_links(mailed.keyring, base_url=BASE, message_id=ids.new()).click(TARGET)
    answer = await anyone.get(minted, headers=BROWSER)
    assert answer.status_code == 302


async def refused(client: Client, path: str, query: dict[str, str]) -> bool:
    """Whether nobody is sent anywhere, by no way of asking."""
    for headers in (BROWSER, {"Accept": "*/*"}):
        for method in ("GET", "HEAD"):
            answer = await client.request(method, path, params=query, headers=headers)
            if answer.status_code != 400 or "Location" in answer.headers:
                return False
            if method == "GET" and headers is not BROWSER and answer.json()["code"] != "link_altered":
                return False
    return True


async def test_a_link_of_another_message_leads_nowhere(
    anyone: Client, make: Make, mailed: Mailed, hits: Hits
) -> None:
    other = await make()
    path, query = mailed.click()
    assert await refused(anyone, other.click()[0], query)
    assert await refused(anyone, path, {**query, "m": other.click()[1]["m"]})
    assert await hits(mailed) == await hits(other) == []


async def test_a_person_is_told_in_words(anyone: Client, mailed: Mailed) -> None:
    path, query = mailed.click()
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
async def test_a_target_that_is_no_web_address_leads_nowhere_though_signed(
    anyone: Client, mailed: Mailed, hits: Hits, target: str
) -> None:
    assert await refused(anyone, *mailed.click(target))
    assert await hits(mailed) == []


@often
@given(altered=st.text(max_size=120))
@example(altered="//evil.example/")
@example(altered="javascript:alert(1)")
@example(altered=TARGET + "/")
@example(altered=TARGET.upper())
@example(altered=TARGET.replace("%C3%A4", "%c3%a4"))
async def test_another_target_leads_nowhere(anyone: Client, mailed: Mailed, altered: str) -> None:
    assume(altered != TARGET and "\0" not in altered)
    path, query = mailed.click()
    assert await refused(anyone, path, {**query, "u": altered})


@often
@given(
    at=st.integers(0, 200), to=st.sampled_from(string.printable), where=st.sampled_from("um"), cut=st.booleans()
)
async def test_one_other_character_leads_nowhere(
    anyone: Client, mailed: Mailed, at: int, to: str, where: str, *, cut: bool
) -> None:
    path, query = mailed.click()
    text = query[where]
    at %= len(text)
    altered = text[:at] + to + text[at + cut :]
    assume(altered not in {text, text.rstrip("=")})  # the padding says nothing
    assert await refused(anyone, path, {**query, where: altered})


@often
@given(at=st.integers(0, 47), to=st.sampled_from(string.ascii_letters + string.digits + "-_.~"))
async def test_another_token_leads_nowhere(anyone: Client, mailed: Mailed, at: int, to: str) -> None:
    query = mailed.click()[1]
    altered = mailed.token[:at] + to + mailed.token[at + 1 :]
    assume(altered != mailed.token)
    assert await refused(anyone, f"/v1/t/c/{altered}", query)


@given(st.text(max_size=60))
def test_what_counts_as_a_web_address_begins_as_one(text: str) -> None:
    for target in (text, f"https:{text}", f"https://{text}"):
        if links.is_web(target):
            assert target.startswith(("http://", "https://"))
            assert not set(target) & set("\\ \t\r\n")


@pytest.mark.parametrize("missing", ["u", "m"])
async def test_both_parameters_are_required(anyone: Client, mailed: Mailed, missing: str) -> None:
    path, query = mailed.click()
    del query[missing]
    answer = await anyone.get(path, params=query, headers={"Accept": "*/*"})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", missing]
