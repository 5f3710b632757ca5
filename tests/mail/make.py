"""One email of each template."""

from dataclasses import replace
from datetime import date

from builders.mail.templates import (
    AccountRestored,
    AccountSuspended,
    ApiKeyCreated,
    ApiKeyLeaked,
    ApprovalPolicyChanged,
    ApprovalSummary,
    ConnectionCreated,
    ConnectionEnded,
    DestinationBounced,
    DeviceKeysCreated,
    DomainUnproved,
    EmailChanged,
    EmailReplaced,
    EmailTemplate,
    ErasureRequested,
    InvoiceIssued,
    InvoicePaid,
    InvoiceReminder,
    InvoiceVoided,
    LeadConfirm,
    PlanApprovalRequested,
    PolicyStep,
    PortfolioEvent,
    ReminderStage,
    Renewal,
    RenewalNotice,
    SampleNotice,
    SignInCode,
    TeamInvite,
    VerifyDestination,
    VerifyEmail,
    WebhookDisabled,
)

LINK = "https://builders.test/v1/open?token=s3cret-Token_0123456789"
CODE = "481516"
DAY = date(2026, 1, 12)
SIGN_IN = SignInCode(code=CODE, link=LINK, minutes=15)
RENEWALS = RenewalNotice(
    domains=(
        Renewal(
            domain="harbour.example", expires_on=date(2026, 12, 1), days=11, auto_renew=True, price="12.00 USD"
        ),
        Renewal(
            domain="xn--bcher-kva.example",
            unicode="bücher.example",
            expires_on=date(2026, 12, 2),
            days=12,
            auto_renew=True,
            price="12.00 EUR",
            base_price="13.10 USD",
            registrar="Porkbun",
            link="https://porkbun.com/account/domainsSpeedy",
        ),
        Renewal(domain="pier.example", expires_on=date(2026, 11, 21), days=1, auto_renew=False),
        Renewal(domain="quay.example", expires_on=date(2026, 11, 20), days=0, auto_renew=False),
        Renewal(domain="old.example", expires_on=date(2026, 11, 19), days=-1, auto_renew=False),
    ),
    link="https://builders.test/renewals?a=1&b=2",
    events=(PortfolioEvent(title="pier.example: A domain was sold.", on=date(2026, 11, 2)),),
    more=3,
    digest=True,
    portfolio="Ada",
    sandbox=True,
)
WEBHOOK = WebhookDisabled(
    label="main",
    url="https://hooks.example/in",
    reason="It answered 410 Gone.",
    link="https://builders.test/hooks",
)
ISSUED = InvoiceIssued(
    number="INV-2026-000123",
    seller="Harbour Names Ltd",
    total="24.00 USD",
    credit="4.00 USD",
    due="20.00 USD",
    due_on=date(2026, 12, 4),
    bank="Bank of Quay, 00-11",
    link="https://builders.test/v1/invoices/1",
)
VOIDED = InvoiceVoided(
    number="INV-2026-000123",
    total="24.00 USD",
    released=True,
    returned="4.00 USD",
    replacement="INV-2026-000124",
    replacement_total="12.00 USD",
    due="8.00 USD",
    due_on=date(2026, 12, 4),
    link="https://builders.test/v1/invoices/2",
)
REMINDERS = tuple(
    InvoiceReminder(
        stage=stage,
        number="INV-2026-000123",
        due="20.00 USD",
        due_on=date(2026, 12, 4),
        suspends_on=date(2026, 12, 18),
        releases_on=date(2027, 1, 17),
        names=True,
        bank=None,
        link="https://builders.test/v1/invoices/1",
    )
    for stage in ReminderStage
)
EMAILS: tuple[EmailTemplate, ...] = (
    VerifyEmail(link=LINK, address="ada@example.net"),
    SIGN_IN,
    EmailChanged(new_address_masked="a***@example.org"),
    EmailReplaced(new_address_masked="a***@example.org"),
    AccountSuspended(account="ada@example.net", reason="Mail of this account was reported as spam."),
    AccountRestored(account="ada@example.net"),
    ErasureRequested(
        account="ada@example.net",
        link=LINK,
        review="https://builders.test/console/of/0193a1b2-0000-7000-8000-0000000000a1/erasure",
        due_on=DAY,
    ),
    ApiKeyCreated(
        label="ci",
        kind="live",
        preset="developer_full",
        prefix="svc_live_4fGh7Kq2LmN8",
        replaced="svc_live_9sTu3Wx5YzA1",
        made_at="2026-01-05 09:30 UTC",
    ),
    ConnectionCreated(
        account="ada@example.net",
        client="Writer",
        host="writer.example.org",
        rights="test: names, plans",
        made_at="2026-01-05 09:30 UTC",
        expires_on=date(2026, 2, 4),
    ),
    ConnectionEnded(
        client="Writer", reason="an old refresh token was used again", ended_at="2026-01-05 09:30 UTC"
    ),
    ApiKeyLeaked(
        label="ci",
        kind="live",
        prefix="svc_live_4fGh7Kq2LmN8",
        last_used="2026-01-05 09:12 UTC",
        revoked_at="2026-01-05 09:30 UTC",
    ),
    DeviceKeysCreated(
        host="ada-laptop",
        address="198.51.100.7",
        keys=("test, developer_full", "live, developer_full"),
        made_at="2026-01-05 09:30 UTC",
        expires_on=DAY,
    ),
    LeadConfirm(link=LINK),
    VerifyDestination(link=LINK, address="ada@example.net", alias="ada@harbour.example"),
    TeamInvite(team="Harbour", inviter="Ada", role="viewer", link=LINK, expires_on=DAY),
    PlanApprovalRequested(
        account="Ada",
        manifest="acme-mail",
        changes="2 create, 1 delete",
        total="24.00 USD",
        reasons=("The plan deletes or replaces resources.",),
        link=LINK,
    ),
    ApprovalSummary(account="Ada", count=4, link=LINK),
    *(
        ApprovalPolicyChanged(
            step=step,
            account="Ada",
            person="grace@example.net",
            policy=("Every plan requires an approval.", "1 person approves."),
            link=LINK,
        )
        for step in PolicyStep
    ),
    RENEWALS,
    WEBHOOK,
    DestinationBounced(address="ada@example.net", aliases=3),
    DomainUnproved(
        domain="ada.example",
        record="_builders-challenge.ada.example",
        value="builders-verification=mfrggzdfmztwq2lknnwg23tpobyxe43u",
        days=3,
    ),
    ISSUED,
    replace(ISSUED, credit=None, due=None, bank=None),
    InvoicePaid(
        number="INV-2026-000123",
        total="24.00 USD",
        paid_on=date(2026, 11, 21),
        link="https://builders.test/v1/invoices/1",
    ),
    VOIDED,
    replace(
        VOIDED, released=False, returned=None, replacement=None, replacement_total=None, due=None, due_on=None
    ),
    *REMINDERS,
    SampleNotice(event="invoice.paid", description="An invoice was paid."),
    SampleNotice(),
)
