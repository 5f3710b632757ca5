import asyncio
from base64 import b64encode
from io import StringIO

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.values import ids
from builders.webhooks import destinations, signatures
from builders.webhooks.records import DestinationSpec
from tests import log_lines
from tests.cast import Client, Person
from tests.kit.outbound.receivers import resolving
from tests.webhooks.hostile import URLS
from tests.webhooks.make import PATH, WANTED, create, read

GIVEN = "whsec_" + b64encode(bytes(range(32))).decode()


async def refused(client: Client, **changes: object) -> list[dict[str, object]]:
    answer = await client.post(PATH, json=WANTED | changes)
    assert answer.status_code == 422, answer.text
    assert (await client.get(PATH)).json()["items"] == []
    detail: list[dict[str, object]] = answer.json()["detail"]
    assert not any("input" in each for each in detail)
    return detail


async def test_a_process_that_ends_after_its_commit_leaves_one_destination(alice: Person, conn: Conn) -> None:
    key = {"Idempotency-Key": ids.new().hex}
    first = (await alice.post(PATH, json=WANTED, headers=key)).json()
    unfinished = "UPDATE kit_idempotency SET status = NULL, body = NULL, lease_until = '2020-01-01' WHERE key = %s"
    await conn.execute(unfinished, [key["Idempotency-Key"]])

    again = await alice.post(PATH, json=WANTED, headers=key)

    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert again.json().get("signing_secret") is None
    assert [each["id"] for each in (await alice.get(PATH)).json()["items"]] == [first["id"]]


async def test_a_generated_secret_is_shown_once(alice: Person) -> None:
    made = await create(alice)

    assert {name: made[name] for name in WANTED} == WANTED
    assert len(signatures.key_of(made["signing_secret"])) == 32
    assert made["signing_secret"].rstrip("=").endswith(made["secret_hint"])
    assert (made["status"], made["version"], made["livemode"], made["warnings"]) == ("enabled", 1, True, [])
    shown = await read(alice, made)
    assert "signing_secret" not in shown
    assert shown == {name: value for name, value in made.items() if name not in {"signing_secret", "warnings"}}


@pytest.mark.parametrize("secret", [GIVEN, "a phrase of mine, long enough", "x" * 256])
async def test_a_given_secret_is_used_and_not_shown(alice: Person, secret: str) -> None:
    answer = await alice.post(PATH, json=WANTED | {"signing_secret": secret})

    assert answer.status_code == 200
    assert answer.json()["signing_secret"] is None
    assert secret not in answer.text


async def test_a_secret_is_sealed_at_rest(alice: Person, service: Service) -> None:
    made = await create(alice, signing_secret=GIVEN)
    async with service.api.state.database.connection() as conn:
        found = await conn.execute("SELECT secret FROM webhooks_destinations WHERE id = %s", (made["id"],))
        row = await found.fetchone()

    assert row is not None
    assert GIVEN.encode() not in bytes(row[0])
    assert bytes(range(32)) not in bytes(row[0])


@pytest.mark.parametrize(
    "secret", ["", "short", "x" * 257, "whsec_" + "A" * 20, "whsec_!!", "sixteen\nsymbols, but two lines"]
)
async def test_an_invalid_secret_is_refused_and_not_shown(alice: Person, secret: str) -> None:
    answer = await alice.post(PATH, json=WANTED | {"signing_secret": secret})

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "signing_secret"]]
    assert "!!" not in answer.text
    assert "x" * 30 not in answer.text
    assert "AAAA" not in answer.text


async def test_no_secret_is_in_the_log(alice: Person) -> None:
    stream = StringIO()
    log.configure(level="debug", stream=stream)
    try:
        made = await create(alice)
        await alice.post(PATH, json=WANTED | {"signing_secret": GIVEN, "url": "http://10.0.0.1/"})
    finally:
        log_lines.write_errors_only()

    assert made["signing_secret"] not in stream.getvalue()
    assert GIVEN not in stream.getvalue()


async def test_urls_of_private_addresses_are_refused_and_nothing_is_stored(alice: Person) -> None:
    for url in URLS:
        answer = await alice.post(PATH, json=WANTED | {"url": url})
        assert answer.status_code == 422, url
        (detail,) = answer.json()["detail"]
        assert (detail["loc"], detail["type"]) == (["body", "url"], "url_not_allowed"), url
        assert len(detail["msg"]) > 20, url
        assert "input" not in detail, url

    assert (await alice.get(PATH)).json()["items"] == []


def test_the_list_of_refused_urls_is_long() -> None:
    assert len(set(URLS)) >= 80


async def test_a_host_with_a_private_address_is_refused_without_showing_it(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"inside_example": ["93.184.215.14", "10.1.2.3"], "meta_example": ["169.254.169.254"]}
    with resolving(monkeypatch, **found):
        for name in ("inside.example", "meta.example"):
            (detail,) = await refused(alice, url=f"https://{name}/")
            assert detail["loc"] == ["body", "url"]
            assert detail["type"] == "url_not_allowed"
            assert not any(address in str(detail) for address in ("10.1", "169.254", "93.184"))


async def test_a_host_that_does_not_resolve_is_accepted(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    with resolving(monkeypatch) as asked:
        made = await create(alice, url="https://soon.example/hooks")

    assert made["url"] == "https://soon.example/hooks"
    assert [name.rstrip(".") for name in asked] == ["soon.example"]


async def test_a_url_is_stored_normalized(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    with resolving(monkeypatch, **{"xn--bcher-kva_example": ["93.184.215.14"]}):
        made = await create(alice, url="HTTPS://B\u00dcCHER.example.:443/a?b=\u00e4")

    assert made["url"] == "https://xn--bcher-kva.example/a?b=%C3%A4"


async def test_an_unknown_event_is_named_with_a_suggestion(alice: Person) -> None:
    detail = await refused(alice, events=["alias.created", "alias.creatd", "invoice.paid", "nothing.at_all"])

    assert [each["loc"] for each in detail] == [["body", "events", 1], ["body", "events", 3]]
    assert "'alias.created'" in str(detail[0]["msg"])


async def test_all_errors_are_reported_together(alice: Person) -> None:
    detail = await refused(alice, url="http://10.0.0.1/", events=["no.such"], signing_secret="short")

    assert [each["loc"] for each in detail] == [
        ["body", "events", 0],
        ["body", "signing_secret"],
        ["body", "url"],
    ]


async def test_events_are_stored_without_duplicates_in_order(alice: Person) -> None:
    made = await create(alice, events=["invoice.paid", "alias.*", "invoice.paid", "*", "alias.*"])

    assert made["events"] == ["invoice.paid", "alias.*", "*"]


@pytest.mark.parametrize(
    ("changes", "loc"),
    [
        ({"label": " "}, ["body", "label"]),
        ({"label": "x" * 121}, ["body", "label"]),
        ({"label": None}, ["body", "label"]),
        ({"url": ""}, ["body", "url"]),
        ({"url": "https://example.com/" + "x" * 2048}, ["body", "url"]),
        ({"enabled": "yes"}, ["body", "enabled"]),
        ({"enabled": 1}, ["body", "enabled"]),
        ({"events": []}, ["body", "events"]),
        ({"events": "alias.created"}, ["body", "events"]),
        ({"events": ["*"] * 101}, ["body", "events"]),
        ({"events": [None]}, ["body", "events", 0]),
        ({"signing_secret": 12345678901234567890}, ["body", "signing_secret"]),
    ],
)
async def test_an_invalid_member_is_named(alice: Person, changes: dict[str, object], loc: list[object]) -> None:
    assert [each["loc"] for each in await refused(alice, **changes)] == [loc]


@pytest.mark.parametrize("missing", WANTED)
async def test_each_required_member_is_named(alice: Person, missing: str) -> None:
    body = {name: value for name, value in WANTED.items() if name != missing}
    answer = await alice.post(PATH, json=body)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", missing]]


async def test_an_unknown_member_is_refused(alice: Person) -> None:
    answer = await alice.post(PATH, json=WANTED | {"signing_secrets": "x"})

    [error] = answer.json()["detail"]
    assert (error["type"], error["did_you_mean"]) == ("unknown_field", "signing_secret")
    assert (await alice.get(PATH)).json()["items"] == []


async def test_a_destination_created_disabled_has_reason_manual(alice: Person) -> None:
    made = await create(alice, enabled=False)

    assert (made["status"], made["disabled_reason"], made["disabled_at"]) == (
        *("disabled", "manual"),
        made["created_at"],
    )


@pytest.mark.maximum("webhooks")
async def test_concurrent_creations_respect_the_limit(alice: Person, service: Service) -> None:
    state, account_id = service.api.state, alice.account.id
    specs = [
        DestinationSpec(id=ids.new(), label="main", url=str(WANTED["url"]), enabled=True, events=["alias.*"])
        for _ in range(destinations.MAX_DESTINATIONS - 3)
    ]
    async with state.database.transaction() as conn:
        await destinations.create_destinations(conn, keyring=state.keyring, account_id=account_id, specs=specs)
    answers = await asyncio.gather(*(alice.post(PATH, json=WANTED) for _ in range(8)))

    assert sorted(each.status_code for each in answers) == [200] * 3 + [409] * 5
    assert {each.json()["code"] for each in answers if each.status_code == 409} == {"webhook_limit"}
    assert len((await alice.get(PATH)).json()["items"]) == destinations.MAX_DESTINATIONS


async def test_a_test_key_creates_it_in_the_sandbox(alice: Person) -> None:
    made = await create(alice.test)

    assert made["livemode"] is False
    assert (await alice.get(PATH)).json()["items"] == []
    assert (await alice.get(f"{PATH}/{made['id']}")).status_code == 404


async def test_a_repeated_request_creates_one_and_omits_the_secret(alice: Person) -> None:
    headers = {"Idempotency-Key": "make-1"}
    first = await alice.post(PATH, json=WANTED, headers=headers)
    second = await alice.post(PATH, json=WANTED, headers=headers)

    assert first.json()["signing_secret"] is not None
    assert second.json() == {name: value for name, value in first.json().items() if name != "signing_secret"}
    assert len((await alice.get(PATH)).json()["items"]) == 1


async def test_both_presets_are_allowed_and_no_credentials_are_401(dana: Person, anyone: Client) -> None:
    assert (await dana.post(PATH, json=WANTED)).status_code == 200
    assert (await anyone.post(PATH, json=WANTED)).status_code == 401
