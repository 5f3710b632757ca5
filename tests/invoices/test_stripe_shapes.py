"""POST /v1/invoices/stripe: a signed event of any form is stored, or refused with 400; never a 500."""

import asyncio
import copy
import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from builders.invoices import payments
from builders.kit.db.connections import Conn, Database
from builders.kit.values import ids
from tests.cast import Client, Person
from tests.invoices.make import make_invoice
from tests.invoices.stripe_server import COMPLETED, StripeServer, event, sign
from tests.invoices.test_stripe import EXPIRED, FAILED, PATH, SUCCEEDED
from tests.random_cases import cases

Json = Any
SESSION: dict[str, Any] = {
    "id": "cs_1",
    "object": "checkout.session",
    "amount_total": 1000,
    "currency": "usd",
    "payment_status": "paid",
    "metadata": {f"builders_{name}": str(ids.new()) for name in ("account", "invoice", "checkout")},
}
WHOLE = json.loads(event(SESSION))
odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -1, 1e300, "", "\0", "x" * 300, "\u202e", "evt_1", "usd", str(ids.new())]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "object", "metadata"]), inner)
    ),
    max_leaves=4,
)


def places(value: Json, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of all nested members."""
    inner = value.items() if isinstance(value, dict) else ()
    return [path, *(each for name, member in inner for each in places(member, (*path, name)))]


def changed(value: Json, path: tuple[str, ...], new: Json) -> Json:
    """Return a copy with another value at the path; with an ellipsis, without the member."""
    if not path:
        return None if new is ... else new
    root = copy.deepcopy(value)
    at = root
    for name in path[:-1]:
        at = at[name]
    if new is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return root


mutations = st.tuples(st.sampled_from(places(WHOLE)), odd | st.just(...))


async def send_event(client: Client, payload: bytes) -> tuple[int, Json]:
    """Send a signed body and return the response."""
    headers = {**sign(payload), "Content-Type": "application/json"}
    answer = await client.post(PATH, content=payload, headers=headers)
    return answer.status_code, answer.json()


@cases(25)
@example(mutation=(("data",), [1]), kind=COMPLETED)
@example(mutation=(("data",), "x"), kind=COMPLETED)
@example(mutation=(("data", "object"), ["x"]), kind=COMPLETED)
@example(mutation=(("data", "object", "metadata"), [1]), kind=COMPLETED)
@example(mutation=(("data", "object", "metadata"), "x"), kind=COMPLETED)
@example(mutation=(("data", "object", "id"), "\0"), kind=COMPLETED)
@example(mutation=(("data", "object", "amount_total"), 10**30), kind=COMPLETED)
@example(mutation=((), []), kind=COMPLETED)
@example(mutation=((), 7), kind=COMPLETED)
@example(mutation=(("id",), ...), kind=COMPLETED)
@example(mutation=(("id",), "\0"), kind=COMPLETED)
@example(mutation=(("type",), None), kind=COMPLETED)
@example(mutation=(("object",), "v2.core.event"), kind=COMPLETED)
@given(mutation=mutations, kind=st.sampled_from([COMPLETED, SUCCEEDED, EXPIRED, FAILED, "invoice.paid"]))
async def test_a_signed_event_of_any_form_is_stored_or_refused(
    anyone: Client, conn: Conn, stripe: StripeServer, mutation: tuple[tuple[str, ...], Json], kind: str
) -> None:
    assert stripe.url
    whole = WHOLE | {"id": f"evt_{ids.new().hex}", "type": kind}
    content = changed(whole, *mutation)
    status, message = await send_event(anyone, json.dumps(content).encode())

    assert status in {200, 400}, message
    if status == 400:
        assert message["code"] == "event_malformed"
        return
    query = "SELECT outcome FROM invoices_stripe_events WHERE id = %s"
    assert await (await conn.execute(query, [message["id"]])).fetchone() == (message["outcome"],)


@pytest.mark.parametrize(
    "payload",
    [
        *(b"", b"{", b"null", b"[]", b'"evt_1"', b"NaN", b"[" * 5_000, b'{"id": %s}' % (b"1" * 5_000)),
        *(b'{"id": "\\ud800", "type": "a"}', b'{"id": "evt_1"}', b'{"type": "a"}', b'{"id": "", "type": "a"}'),
    ],
    ids=range(12),
)
async def test_a_signed_body_that_is_not_an_event_is_refused(
    anyone: Client, stripe: StripeServer, payload: bytes
) -> None:
    assert stripe.url
    status, message = await send_event(anyone, payload)
    assert (status, message["code"]) == (400, "event_malformed")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("metadata", {**SESSION["metadata"], "builders_invoice": "none"}),
        ("metadata", {"builders_account": str(ids.new())}),
        ("metadata", {"builders_account": 7, "builders_invoice": None, "builders_checkout": []}),
        ("amount_total", True),
        ("amount_total", 1000.0),
    ],
)
async def test_an_event_with_malformed_metadata_is_a_discrepancy(
    database: Database, alice: Person, anyone: Client, stripe: StripeServer, member: str, value: Json
) -> None:
    made = await make_invoice(database, account_id=alice.account.id)
    assert (await alice.post(f"/v1/invoices/{made.id}/checkout")).status_code == 200
    status, message = await send_event(anyone, event(stripe.sessions[0], **{member: value}))

    assert (status, message["outcome"]) == (200, "discrepancy")
    async with database.connection() as conn:
        assert message["id"] in [each.id for each in await payments.list_discrepancies(conn)]


async def test_events_without_an_id_are_refused(anyone: Client, stripe: StripeServer) -> None:
    assert stripe.url
    found = await asyncio.gather(*(send_event(anyone, b'{"id": null, "type": "a"}') for _ in range(2)))
    assert {status for status, _ in found} == {400}
