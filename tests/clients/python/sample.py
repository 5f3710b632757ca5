"""A script as a user writes it; test_generated.py runs `mypy --strict` on it, and nothing runs the script."""

from decimal import Decimal

from builders_client import AsyncBuilders, Builders, Money, Retries, errors
from builders_client.claims import ApprovalPending, TotalTooHigh
from builders_client.webhooks import verify


def claim(client: Builders) -> str:
    try:
        claimed = client.names.claim("ada@harbour.example", to="ada@example.net", max_total="24.00 USD")
    except TotalTooHigh as error:
        return f"{error.total[0].amount + Decimal(1)} {error.next_action}"
    except ApprovalPending as error:
        return error.review_url
    return claimed.plan.digest


def work(client: Builders) -> list[str]:
    project = client.projects.create(name="Acme", default_destination="ada@example.net")
    client.projects.update(project.id, alias_limit=None, if_match='"1"')
    found = [each.slug for each in client.projects.list_projects(limit=10)]
    for page in client.portfolio.list_domains(limit=100).pages():
        found += [each.domain for each in page.items]
    try:
        client.aliases.get("nonsense")
    except errors.AliasNotFound as error:
        found.append(f"{error.code} {error.request_id} {error.next_action}")
    except errors.InvalidError as error:
        found += [each.message for each in error.errors]
    for event in client.events.follow("cursor", types=["alias.*"]):
        found.append(event.type)
    pdf: bytes = client.invoices.get_invoice_pdf("id").content
    return [*found, pdf.hex(), Money.parse("1.00 USD").currency]


async def both() -> None:
    async with AsyncBuilders("svc_test_key", live_key="svc_live_key", retries=Retries(deadline=10)) as client:
        async for each in client.projects.list_projects():
            print(each.created_at.tzinfo, each.name)  # noqa: T201 - a script prints
        first = await client.with_options(portfolio="id").portfolio.list_domains().first()
        total: int | None = first.total
        print(total, verify(b"{}", {}, ["whsec_old", "whsec_new"]).type)  # noqa: T201 - a script prints


with Builders(base_url="https://builders.example") as builders:
    print(claim(builders), work(builders))  # noqa: T201 - a script prints
