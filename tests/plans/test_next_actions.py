"""The next actions of a promotion, and whether a failed step is retryable."""

import ast
from pathlib import Path
from uuid import UUID

import pytest

from builders import plans
from builders.aliases import confirmations
from builders.aliases.records import Reason
from builders.invoices import payments
from builders.kit.db.connections import Database
from builders.plans.records import RETRYABLE, StepError
from tests.cast import Person
from tests.plans.make import Domains, Json, alias, apply, make_addresses

READER = "ops@example.net"


async def read(person: Person, promotion: Json, *, test: bool = False) -> Json:
    """Read the promotion."""
    client = person.test if test else person
    found: Json = (await client.get(f"/v1/sandbox/promotions/{promotion['id']}")).json()
    return found


def details(promotion: Json) -> dict[str, Json]:
    """Return the details of the next actions by action."""
    assert [each["action"] for each in promotion["next_action_details"]] == promotion["next_actions"]
    return {each["action"]: each for each in promotion["next_action_details"]}


async def test_unconfirmed_recipients_are_listed_until_they_confirm(
    alice: Person, database: Database, domains: Domains
) -> None:
    free = await domains(price_amount="0")
    promotion = await apply(alice, alias(f"ada@{free}", READER), alias(f"grace@{free}", READER))

    assert promotion["next_actions"] == ["confirm_destinations"]
    confirm = details(promotion)["confirm_destinations"]
    assert confirm["emails"] == [READER]
    assert "/v1/aliases/destinations/resend" in confirm["message"]
    masked = details(await read(alice, promotion, test=True))["confirm_destinations"]
    assert masked["emails"] == ["o***@example.net"]
    async with database.transaction() as conn:
        await confirmations.verify_destination(conn, account_id=alice.account.id, email=READER)
    assert (await read(alice, promotion))["next_actions"] == []


async def test_a_released_name_needs_no_confirmation(alice: Person, domains: Domains) -> None:
    free = await domains(price_amount="0")
    promotion = await apply(alice, alias(f"ada@{free}", READER))
    await apply(alice, prune=True)
    assert (await read(alice, promotion))["next_actions"] == []


async def test_open_invoices_are_listed_until_they_are_paid(
    alice: Person, database: Database, domain: str
) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}", alice.account.email))
    (billed,) = promotion["invoices"]
    assert details(promotion)["pay_invoices"]["invoice_ids"] == [billed["id"]]
    async with database.transaction() as conn:
        await payments.pay(
            conn,
            account_id=alice.account.id,
            invoice_id=UUID(billed["id"]),
            method="transfer",
            reference="1",
        )
    assert (await read(alice, promotion))["next_actions"] == []


async def test_a_large_promotion_lists_the_first_recipients(alice: Person, domains: Domains) -> None:
    free = await domains(price_amount="0")
    wanted = [alias(name, f"reader{at:03}@example.net") for at, name in enumerate(make_addresses(120, free))]
    promotion = await apply(alice, *wanted)
    assert len(details(promotion)["confirm_destinations"]["emails"]) == 100


@pytest.mark.parametrize(
    ("code", "retryable"), [("taken", False), ("held", True), ("price_changed", False), ("invented", False)]
)
def test_the_code_decides_whether_a_step_is_retryable(code: str, retryable: bool) -> None:
    assert StepError(code=code, message="x").retryable is retryable


def test_every_code_of_a_step_is_in_the_table() -> None:
    said = {each.value for each in Reason if each is not Reason.OK}
    for file in Path(plans.__path__[0], "resources").rglob("*.py"):
        for part in ast.parse(file.read_text(encoding="utf-8")).body:
            is_plan = isinstance(part, ast.FunctionDef) and not part.name.endswith(("drift", "fault", "faults"))
            said |= {
                str(each.value.value)
                for each in ast.walk(part)
                if isinstance(each, ast.keyword) and each.arg == "code" and isinstance(each.value, ast.Constant)
                if not is_plan
            }
    assert len(said) > 20
    assert said - {"left_alone"} <= RETRYABLE.keys()  # a finding of a plan
