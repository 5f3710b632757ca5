"""Calls of the client against the service in this process."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from typing import get_args

import pytest

from builders.app import Service
from builders_client import AsyncBuilders, Money
from builders_client.errors import (
    AliasNotFound,
    CredentialsInvalid,
    ForbiddenError,
    InvalidError,
    NoCredentials,
    NotFoundError,
    NotModified,
    PortfolioNotFound,
    VersionMismatch,
)
from builders_client.generated.models.projects import ProjectReply
from builders_client.generated.models.sandbox import PlanReply
from builders_client.values import Model, etag_of
from codegen import generate
from tests.cast import Person
from tests.clients.python.make import client_of, live
from tests.published import published

MIN_EXAMPLES = 100


@pytest.fixture
async def client(alice: Person) -> AsyncIterator[AsyncBuilders]:
    async with live(alice) as client:
        yield client


async def test_a_call_returns_what_was_created(client: AsyncBuilders) -> None:
    made = await client.projects.create(name="Acme")
    found = await client.projects.get(made.id)
    assert isinstance(found, ProjectReply)
    assert (found.name, found.id) == ("Acme", made.id)


async def test_times_have_a_zone(client: AsyncBuilders) -> None:
    made = await client.projects.create(name="Acme")
    assert made.created_at.utcoffset() == datetime.now(UTC).utcoffset()


async def test_an_absent_member_stays_and_none_clears(client: AsyncBuilders) -> None:
    made = await client.projects.create(name="Acme", default_destination="ada@example.net")
    kept = await client.projects.update(made.id, name="Acme 2")
    cleared = await client.projects.update(made.id, default_destination=None)
    assert (kept.default_destination, cleared.default_destination) == ("ada@example.net", None)


async def test_a_list_reads_all_pages(client: AsyncBuilders) -> None:
    names = [f"Project {n}" for n in range(5)]
    for name in names:
        await client.projects.create(name=name)
    pages = client.projects.list_projects(limit=2)
    assert sorted([each.name async for each in pages]) == names
    assert [len(page.items) async for page in pages.pages()] == [2, 2, 1]
    assert len((await pages.first()).items) == 2


async def test_money_is_exact(dana: Person) -> None:
    async with live(dana) as client:
        await client.portfolio.add_domain(domain="exact.example", renewal_price=Money.parse("0.10 USD"))
        [found] = [each async for each in client.portfolio.list_domains()]
        assert found.renewal_price is not None
        assert found.renewal_price.amount * 3 == Decimal("0.30")


async def test_a_refusal_is_an_error_of_its_code(client: AsyncBuilders) -> None:
    with pytest.raises(AliasNotFound) as caught:
        await client.aliases.get("0193a1b2-0000-7000-8000-000000000004")
    error = caught.value
    assert isinstance(error, NotFoundError)
    assert (error.status, error.code) == (404, "alias_not_found")
    assert error.next_action
    assert error.request_id


async def test_a_refusal_has_the_members_of_its_problem(service: Service, dana: Person) -> None:
    async with client_of(service, dana.key) as client:
        with pytest.raises(ForbiddenError) as caught:
            await client.projects.create(name="Acme")
    assert caught.value.members["scope"] == "projects:write"


async def test_an_invalid_value_is_named(client: AsyncBuilders) -> None:
    with pytest.raises(InvalidError) as caught:
        await client.projects.create(name="", alias_limit=-1)
    assert {each.location for each in caught.value.errors} == {("body", "name"), ("body", "alias_limit")}
    assert "body.name" in str(caught.value)


async def test_a_missing_member_is_refused_before_it_is_sent(client: AsyncBuilders) -> None:
    with pytest.raises(TypeError, match="digest"):
        await client.sandbox.promote(plan_id="0193a1b2-0000-7000-8000-000000000004")  # type: ignore[typeddict-item,call-arg,unused-ignore] # the digest is missing


async def test_without_a_key_only_public_operations_are_sent(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BUILDERS_API_KEY", raising=False)
    async with client_of(service, None) as client:
        assert (await client.catalog.list_categories()).items is not None
        with pytest.raises(NoCredentials):
            await client.projects.list_projects().first()


async def test_the_environment_has_the_key(
    service: Service, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILDERS_API_KEY", alice.key)
    async with client_of(service, None) as client:
        assert (await client.profile.get()).email == alice.account.email


async def test_a_function_chooses_the_key_by_the_scope(service: Service, alice: Person) -> None:
    keys = {"projects:read": alice.key}
    async with client_of(service, lambda operation: keys.get(operation.scope or "", "svc_live_wrong")) as client:
        assert (await client.projects.list_projects().first()).items == []
        with pytest.raises(CredentialsInvalid):
            await client.profile.get()


async def test_a_portfolio_of_another_account_is_an_option(dana: Person, alice: Person) -> None:
    async with live(dana) as client:
        with pytest.raises(PortfolioNotFound):
            await client.with_options(portfolio=str(alice.account.id)).portfolio.list_domains().first()
        assert (await client.portfolio.list_domains().first()).items == []


async def test_what_has_not_changed_is_not_read_again(client: AsyncBuilders) -> None:
    made = await client.projects.create(name="Acme")
    with pytest.raises(NotModified):
        await client.projects.get(made.id, if_none_match=etag_of(await client.projects.get(made.id)))


async def test_a_change_can_require_the_version_that_was_read(client: AsyncBuilders) -> None:
    made = await client.projects.get((await client.projects.create(name="Acme")).id)
    await client.projects.update(made.id, name="Acme 2", if_match=etag_of(made))
    with pytest.raises(VersionMismatch):
        await client.projects.update(made.id, name="Acme 3", if_match=etag_of(made))


async def test_a_file_keeps_its_bytes(dana: Person) -> None:
    async with live(dana) as client:
        await client.portfolio.add_domain(domain="file.example")
        found = await client.portfolio.export_portfolio_csv()
    assert found.content_type == "text/csv"
    assert "file.example" in found.text


def test_values_and_members_of_a_later_revision_are_kept() -> None:
    [shown, *_] = published().document["components"]["schemas"]["PlanReply"]["examples"]
    plan = PlanReply.model_validate({**shown, "status": "archived", "format_version": "2.0", "colour": "blue"})
    assert (plan.status, plan.format_version, plan.model_extra) == ("archived", "2.0", {"colour": "blue"})


def models() -> list[type[Model]]:
    """Return the models of replies."""
    paths = (generate.PACKAGE / "generated" / "models").glob("[a-z]*.py")
    modules = [import_module(f"builders_client.generated.models.{path.stem}") for path in paths]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return [each for each in found if issubclass(each, Model)]


def test_every_example_of_a_reply_is_read_and_keeps_its_values() -> None:
    schemas = published().document["components"]["schemas"]
    examples = [(kind, each) for kind in models() for each in schemas.get(kind.__name__, {}).get("examples", ())]
    assert len(examples) >= MIN_EXAMPLES
    for kind, example in examples:
        again = kind.model_validate(example).model_dump(mode="json", exclude_unset=True)
        assert with_plain_times(again) == with_plain_times(example), kind.__name__


def test_every_time_of_a_reply_has_a_zone() -> None:
    """Also one that can be null: without its form in the document it would be text."""
    times = [
        (f"{kind.__name__}.{name}", field.annotation)
        for kind in models()
        for name, field in kind.model_fields.items()
        if name.endswith("_at")
    ]
    assert len(times) > MIN_EXAMPLES
    assert [name for name, of in times if str in (of, *get_args(of))] == []


def with_plain_times(value: object) -> str:
    """Return the value as text, times without zeros at their end."""
    return re.sub(r"(T[\d:]+)(?:\.0+)?(?:Z|\+00:00)", r"\1", json.dumps(value, sort_keys=True))
