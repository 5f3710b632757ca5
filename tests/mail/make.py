"""Letters of the tests, one of each kind."""

from datetime import date

from builders.mail.records import (
    EmailChanged,
    EmailReplaced,
    LeadConfirm,
    Letter,
    Renewal,
    RenewalNotice,
    SampleNotice,
    SignInCode,
    TeamInvite,
    VerifyEmail,
    WebhookDisabled,
)

LINK = "https://builders.test/v1/open?token=s3cret-Token_0123456789"
CODE = "481516"
SIGN_IN = SignInCode(code=CODE, link=LINK, minutes=15)
RENEWALS = RenewalNotice(
    domains=(
        Renewal(
            domain="harbour.example", expires_on=date(2026, 12, 1), days=11, auto_renew=True, price="12.00 USD"
        ),
        Renewal(domain="pier.example", expires_on=date(2026, 11, 21), days=1, auto_renew=False),
        Renewal(domain="quay.example", expires_on=date(2026, 11, 20), days=0, auto_renew=False),
        Renewal(domain="old.example", expires_on=date(2026, 11, 19), days=-1, auto_renew=False),
    ),
    link="https://builders.test/renewals?a=1&b=2",
)
WEBHOOK = WebhookDisabled(
    label="main",
    url="https://hooks.example/in",
    reason="It answered 410 Gone.",
    link="https://builders.test/hooks",
)
LETTERS: tuple[Letter, ...] = (
    VerifyEmail(link=LINK, address="ada@example.net"),
    SIGN_IN,
    EmailChanged(new_address_masked="a***@example.org"),
    EmailReplaced(new_address_masked="a***@example.org"),
    LeadConfirm(link=LINK),
    TeamInvite(team="Harbour", inviter="Ada", role="viewer", link=LINK),
    RENEWALS,
    WEBHOOK,
    SampleNotice(event="invoice.paid", description="An invoice was paid."),
    SampleNotice(),
)
