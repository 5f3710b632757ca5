"""What adapters do with responses that no registrar should give."""

import asyncio
import json
import tomllib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from builders.kit.outbound.client import Response
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.api_client import SMALL_BYTES
from builders.portfolio.registrars.failures import MAX_CODE, RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import TransferState
from tests.portfolio.registrars.recorded_make import RECORDED, SINCE, UNTIL, Replay, adapter_of, until_failure

Call = Callable[[Adapter], Awaitable[Any]]
HUGE = "1E+9999999"
MARCH = {"since": SINCE, "until": UNTIL}


async def listed(adapter: Adapter) -> Any:
    return [page async for page in adapter.list_domains()]


async def charged(adapter: Adapter) -> Any:
    return [page async for page in adapter.list_charges(since=date(2026, 1, 1), until=date(2026, 12, 31))]


async def transferred(adapter: Adapter) -> Any:
    return await adapter.find_transfer("a.com")


def reply(inner: str) -> str:
    return f"<namesilo><reply><code>300</code>{inner}</reply></namesilo>"


def namesilo(details: str) -> Mapping[str, str]:
    order = "<order><order_number>1</order_number><order_date>2026-03-01 00:00:00</order_date></order>"
    row = f"<order_details><description>a.com - renewal</description>{details}</order_details>"
    return {"/listOrders": reply(order), "/orderDetails": reply(row)}


def godaddy(subtotal: str) -> Mapping[str, str]:
    order = {"orderId": "1", "createdAt": "2026-03-01T00:00:00Z"}
    item = {"label": "a.com", "pricing": {"subtotal": subtotal, "taxes": subtotal}}
    page = {"orders": [order], "pagination": {"total": 1}}
    return {"/v1/orders": json.dumps(page), "/v1/orders/1": json.dumps({**order, "items": [item]})}


def dynadot(expiration: object) -> Mapping[str, str]:
    row = {"domain_name": "a.com", "expiration_date": expiration}
    data = {"domain_info_list": [row], "pagination_result": {"has_next_page": False, "total": 1}}
    return {"/restful/v2/domains": json.dumps({"code": 200, "data": data})}


def namecom(price: object) -> Mapping[str, str]:
    rows = [{"domainName": "a.com", "renewalPrice": price, "autorenewEnabled": True}]
    return {"/core/v1/domains": json.dumps({"domains": rows, "totalCount": 1})}


TRANSFERS = (
    '<ApiResponse xmlns="http://api.namecheap.com/xml.response" Status="OK">'
    '<Transfer DomainName="a.com" TransferID="1"/><Transfer DomainName="a.com" TransferID="x"/></ApiResponse>'
)


@pytest.mark.parametrize(
    ("provider", "responses", "call"),
    [
        pytest.param(
            "namesilo",
            {"/listDomains": reply("<pager><total>many</total></pager><domains><domain>a.com</domain></domains>")},
            listed,
            id="NameSilo: a count in words",
        ),
        pytest.param(
            "namesilo",
            namesilo("<subtotal>9</subtotal><years_qty>two</years_qty>"),
            charged,
            id="NameSilo: years in words",
        ),
        pytest.param(
            "namesilo",
            namesilo(f"<subtotal>{HUGE}</subtotal><status>Credited</status>"),
            charged,
            id="NameSilo: a huge credit",
        ),
        pytest.param(
            "namesilo", namesilo("<subtotal>free</subtotal>"), charged, id="NameSilo: an amount in words"
        ),
        pytest.param("namecheap", {"/xml.response": TRANSFERS}, transferred, id="Namecheap: transfers"),
        pytest.param("godaddy", godaddy(HUGE), charged, id="GoDaddy: a huge amount"),
        pytest.param("godaddy", godaddy("NaN"), charged, id="GoDaddy: not a number"),
    ],
)
async def test_values_that_cannot_be_read_are_malformed(
    provider: str, responses: Mapping[str, str], call: Call
) -> None:
    with pytest.raises(RegistrarFailed) as failed:
        await call(adapter_of(provider, Replay(responses)))
    of_bill = call is charged
    assert failed.value.kind is (RegistrarFailure.INCOMPLETE if of_bill else RegistrarFailure.MALFORMED)
    assert [each.item for each in failed.value.unread] == ["1"] * of_bill


# Bills whose first one has another time, and how it is named: the others are read.
DATED = {
    "dynadot": ("/restful/v2/orders", "1772359200000", ("-62135596800000", "253402214400000"), "123456"),
    "godaddy": ("/v1/orders", "2026-03-01", ("0001-03-01", "9999-03-01"), "1500001"),
    "namecom": ("/core/v1/orders", "2026-03-01", ("0001-03-01", "9999-03-01"), None),
    "namesilo": ("/listOrders", "2026-03-01", ("0001-03-01", "9999-03-01"), "77777"),
    "ovh": ("/me/bill/FR12345678", "2026-03-01", ("0001-03-01", "9999-03-01"), "FR12345678"),
    "route53": ("ViewBilling", "1772360100.0", ("-62135596800", "253402214400"), "example.com"),
}


@pytest.mark.parametrize("provider", DATED)
async def test_a_bill_with_a_wrong_date_is_named_and_never_stops_the_others(provider: str) -> None:
    path, right, wrong, item = DATED[provider]
    recorded = tomllib.loads((RECORDED / f"{provider}.toml").read_text())
    responses = recorded["responses"]
    whole = [line async for page in adapter_of(provider, Replay(responses)).list_charges(**MARCH) for line in page]
    for date_text in wrong:
        changed = {**responses, path: responses[path].replace(right, date_text, 1)}
        lines, failed = await until_failure(adapter_of(provider, Replay(changed)).list_charges(**MARCH))
        [unread] = failed.unread
        assert (failed.kind, unread.item) == (RegistrarFailure.INCOMPLETE, item or unread.item)
        assert lines == [line for line in whole if unread.item not in {line.order_id, *line.domains}]
        assert len(lines) < len(whole)


@pytest.mark.parametrize(
    ("provider", "responses", "left_out"),
    [
        pytest.param("namecom", namecom(1e300), ("renewalPrice",), id="Name.com: a huge price"),
        pytest.param("namecom", namecom([]), ("renewalPrice",), id="Name.com: a list for a price"),
        pytest.param("dynadot", dynadot({}), ("expires_at",), id="Dynadot: an object for a time"),
        pytest.param("dynadot", dynadot("1" + "0" * 20), ("expires_at",), id="Dynadot: after the last year"),
    ],
)
async def test_a_value_that_cannot_be_read_is_left_out_of_its_row(
    provider: str, responses: Mapping[str, str], left_out: Sequence[str]
) -> None:
    [[held]] = await listed(adapter_of(provider, Replay(responses)))
    assert (held.domain, held.unread) == ("a.com", left_out)


@pytest.mark.parametrize("status", ["", "<status/>", "<status>Sent to the registry</status>"])
async def test_a_transfer_at_namesilo_is_pending_unless_a_word_says_otherwise(status: str) -> None:
    found = await transferred(adapter_of("namesilo", Replay({"/checkTransferStatus": reply(status)})))
    assert found.state is TransferState.PENDING


@pytest.mark.parametrize(
    ("actions", "state"),
    [
        ([("TRANSFER_IN", "PENDING"), ("TRANSFER_OUT_REQUESTED", "AWAITING")], TransferState.PENDING),
        ([("TRANSFER_OUT", "SUCCESS")], TransferState.COMPLETED),
        ([("TRANSFER_IN", "a new word")], TransferState.ACTION_REQUIRED),
    ],
)
async def test_the_latest_transfer_of_a_domain_at_godaddy_is_found(
    actions: list[tuple[str, str]], state: TransferState
) -> None:
    rows = [
        {"type": kind, "status": status, "createdAt": f"2026-03-0{day}T00:00:00Z"}
        for day, (kind, status) in enumerate(actions, start=1)
    ]
    path = "/v2/customers/c-1/domains/a.com/actions"
    found = await transferred(adapter_of("godaddy", Replay({path: json.dumps(rows)})))
    kind, status = actions[-1]
    assert (found.state, found.status_raw) == (state, f"{kind} {status}")
    assert found.direction == ("out" if "OUT" in kind else "in")


async def test_a_registrar_without_transfers_of_a_domain_has_none() -> None:
    rows = json.dumps({"status": "SUCCESS", "transfers": [{"domain": "b.com", "status": "NEW"}]})
    assert await transferred(adapter_of("porkbun", Replay({"/domain/listTransfers": rows}))) is None


@pytest.mark.parametrize(
    ("named", "failure"), [("2", None), ("3", RegistrarFailure.INCOMPLETE), (None, RegistrarFailure.INCOMPLETE)]
)
async def test_a_list_of_gandi_is_complete_at_the_total_of_its_header(
    named: str | None, failure: RegistrarFailure | None
) -> None:
    rows, headers = [{"fqdn": "a.com"}, {"fqdn": "b.com"}], {} if named is None else {"Total-Count": named}
    replay = Replay({"/domain/domains": json.dumps(rows)}, ends={"/domain/domains": "[]"}, headers=headers)
    seen = None
    try:
        await listed(adapter_of("gandi", replay))
    except RegistrarFailed as failed:
        seen = failed.kind
    assert seen is failure


class Redirecting(Replay):
    """Redirects each request to a private address."""

    async def request(self, *_: Any, **__: Any) -> Response:
        self.requests += 1
        headers = {"Location": "http://169.254.169.254/"}
        return Response(status=302, headers=headers, body=b"{}", elapsed_ms=1, truncated=False)


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_a_redirect_is_neither_followed_nor_a_success(provider: str) -> None:
    async def switched(adapter: Adapter) -> None:
        await adapter.set_auto_renew("a.com", enabled=True)

    replay = Redirecting({})
    adapter = adapter_of(provider, replay)
    calls: list[Call] = [listed, *([switched] if adapter.profile.capabilities.set_auto_renew else [])]
    for call in calls:
        replay.requests = 0
        with pytest.raises(RegistrarFailed) as failed:
            await call(adapter)
        assert (failed.value.kind, failed.value.code, replay.requests) == (RegistrarFailure.REFUSED, "302", 1)


async def test_a_large_response_leaves_the_event_loop_free() -> None:
    rows = [{"domain": f"d{number}.com", "status": "ACTIVE"} for number in range(SMALL_BYTES // 20)]
    adapter = adapter_of(
        "porkbun", Replay(defaultdict(lambda: json.dumps({"status": "SUCCESS", "domains": rows})))
    )
    others = 0

    async def count() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(count())
    await asyncio.sleep(0)
    before = others
    page = await anext(aiter(adapter.list_domains()))
    task.cancel()
    assert len(page) == len(rows)
    assert others > before


def test_the_code_of_a_failure_is_bounded() -> None:
    assert len(RegistrarFailed(RegistrarFailure.REFUSED, code="x" * 10_000).code or "") == MAX_CODE


@pytest.mark.parametrize("encoding", ["U-TF-8", "utf-7", "rot13", "idna", "x" * 500])
async def test_xml_of_an_unknown_encoding_is_malformed(encoding: str) -> None:
    body = f'<?xml version="1.0" encoding="{encoding}"?><ApiResponse/>'
    with pytest.raises(RegistrarFailed) as failed:
        await listed(adapter_of("namecheap", Replay({"/xml.response": body})))
    assert failed.value.kind is RegistrarFailure.MALFORMED
