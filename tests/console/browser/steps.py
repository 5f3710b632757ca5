"""Each form of the console: where it is, what a person types, and what they see afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.console.browser.account import BILL, LISTED, MESSY, REVENUE
from tests.console.browser.people import ACCOUNTANT, DECIDER, OWNER


@dataclass(frozen=True, slots=True)
class Step:
    """A form that a person sends: where it is, what they type, and what they see afterwards."""

    action: str  # of the form
    path: str | None  # of the page with the form; None for the page that the form before leads to
    says: str  # a pattern of the next page
    typed: Mapping[str, str] = field(default_factory=dict)  # by the name of the field
    link: str | None = None  # followed on the page first
    row: str | None = None  # a text of the row that has the form
    button: str | None = None  # of several
    who: str = OWNER
    shows: str | None = None  # a text that is in the source of the page afterwards
    hides: str | None = None  # one that is gone
    at: str | None = None  # the page with `shows` or without `hides`, if it is not that of the form


FIRST = "(the first one)"  # of the options of a select
CHARGES = "/console/portfolio/registrars/charges"
DOMAIN = "/console/portfolio/domains/{domain_id}"
SALE = "/console/portfolio/sale/{domain_id}"
DOMAINS = "/console/portfolio/domains"
IMPORT = "/console/portfolio/import"
NAME = "/console/names/{alias_id}"
CORRESPONDENTS, CURRENCIES = f"{NAME}/correspondents", "/console/portfolio/currencies"
REGISTRARS = "/console/portfolio/registrars"
RATE = {"currency": "USDT", "rate": "0.9", "quote_currency": "EUR", "since": "2026-01-05"}
CLICKED = {"provider": "manual:clicked"}
NOTICES = "/console/portfolio/notices"
PLAN_TO_DECIDE = "/console/of/{owner_id}/plans/{plan_id}"
TEST_REGISTRARS = "/console/test/portfolio/registrars"
# In this order; a form follows what it needs.
STEPS: Sequence[Step] = (
    Step("export-confirm", "/console/exports", "The export (is written|waits)", shows="Requested"),
    Step(
        "erasure-confirm",
        "/console/erasure",
        "The account is erased after 14 days",
        who=DECIDER,
        shows="Keep the account",
    ),
    Step("erasure-cancel", "/console/erasure", "The account is kept", who=DECIDER, hides="Keep the account"),
    Step("project-add", "/console/projects", "The project is created", {"name": "Clicked"}, shows="Clicked"),
    Step(
        "project-change",
        "/console/projects",
        "The project is changed",
        {"name": "Clicked twice"},
        link="Clicked",
        shows="Clicked twice",
    ),
    Step(
        "project-archive",
        "/console/projects",
        "The project is archived",
        link="Clicked twice",
        hides="Clicked twice",
    ),
    Step(
        "claim",
        "/console/claim?local_part=zoe&domain=harbour.example",
        "zoe@harbour.example",
        {"destination": "ada@example.net"},
        shows="console",
        at="/console/plans",
    ),
    Step("plan-ask", "/console/plans/{plan_id}", "The people who decide are asked"),
    Step(
        "plan-reject",
        PLAN_TO_DECIDE,
        "Your rejection is recorded",
        {"comment": "Too many names."},
        who=DECIDER,
        shows="Too many names.",
    ),
    Step("plan-withdraw", PLAN_TO_DECIDE, "Your decision is withdrawn", who=DECIDER),
    Step(
        "plan-approve",
        PLAN_TO_DECIDE,
        "Your approval is recorded. The plan is approved.",
        {"comment": "As agreed."},
        who=DECIDER,
        shows="As agreed.",
    ),
    Step("plan-promote", "/console/plans/{plan_id}", "Promotion"),
    Step(
        "names-change",
        "/console/names",
        "Of the clicks",
        {"ids": "on", "note": "Of the clicks"},
        shows="console",
        at="/console/plans",
    ),
    Step("name-change", NAME, "The name is changed", {"note": "Of a click"}, shows="Of a click"),
    Step("name-change", NAME, "The name is changed", {"reply": "on"}),
    Step(
        "correspondent-add",
        CORRESPONDENTS,
        "Write to",
        {"email": "friend@example.net"},
        shows="friend@example.net",
    ),
    Step("correspondent-remove", CORRESPONDENTS, "The correspondent is removed", hides="mate@example.net"),
    Step("destination-ask", "/console", "It is too soon to send another confirmation"),
    Step(
        "reception-set",
        NAME,
        "The mail to this name is received as events",
        {"webhook_id": FIRST, "key_id": FIRST},
    ),
    Step("reception-end", NAME, "no longer received as events", hides="End it, and delete the stored messages"),
    Step("name-release", NAME, "The name is released", shows="deleted"),
    Step(
        "domain-add",
        "/console/domains",
        "The domain is added",
        {"domain": "clicked.example", "default_destination": "ada@example.net"},
        shows="clicked.example",
    ),
    Step("domain-verify", "/console/domains", "DNS|the record", link="clicked.example"),
    Step(
        "domain-change",
        "/console/domains",
        "The domain is changed",
        {"default_destination": "grace@example.net"},
        link="clicked.example",
    ),
    Step(
        "domain-release",
        "/console/domains",
        "The domain is released",
        link="clicked.example",
        hides="clicked.example",
    ),
    Step(
        "webhook-add",
        "/console/webhooks",
        "The signing secret",
        {"label": "clicked", "url": "https://93.184.215.14/clicked"},
        shows="clicked",
    ),
    Step(
        "webhook-change",
        "/console/webhooks",
        "The destination is changed",
        {"label": "clicked again"},
        link="clicked",
        shows="clicked again",
    ),
    Step("webhook-rotate", "/console/webhooks", "whsec_", link="clicked again"),
    Step("webhook-test", "/console/webhooks/{webhook_id}", "The test event was sent, but not accepted.*500"),
    Step(
        "webhook-replay",
        "/console/webhooks/{webhook_id}",
        "Nothing is sent again|sent again",
        {"since": "2026-01-01T00:00"},
    ),
    Step(
        "webhook-delete",
        "/console/webhooks",
        "The destination is deleted",
        link="clicked again",
        hides="clicked again",
    ),
    Step("delivery-retry", "/console/deliveries/{failed_id}", "The event was sent, but not accepted.*500"),
    Step("agent-mint", "/console/keys", "svc_test_", {"label": "clicked", "toolsets": "on"}),
    Step("key-mint", "/console/keys", "svc_test_", {"label": "clicked"}, shows="clicked"),
    Step("key-rotate", "/console/keys", "svc_test_", row="clicked"),
    Step("key-revoke", "/console/keys", "The key is revoked", row="clicked", shows="revoked"),
    Step("device-find", "/console/device", "Keys for a machine", {"user_code": "{user_code}"}),
    Step("device-approve", "/console/device/{request_id}", "Approved. Go back to the terminal."),
    Step("device-deny", "/console/device/{request_id}", "The machine gets no key"),
    Step("session-end", "/console/sessions", "The session has ended"),
    Step(
        "member-invite",
        "/console/team",
        "The invitation is made",
        {"email": "clicked@example.net"},
        shows="clicked@",
    ),
    Step("invite-revoke", "/console/team", "The invitation is revoked", row="clicked@", hides="clicked@"),
    Step("member-change", "/console/team", "The member is changed", row=ACCOUNTANT, button="Let decide"),
    Step(
        "member-change",
        "/console/team",
        "The member is changed",
        {"role": "viewer"},
        row=ACCOUNTANT,
        shows="viewer",
    ),
    Step("decider-confirm", "/console/team", "The person is confirmed", row=ACCOUNTANT),
    Step(
        "member-remove",
        "/console/team",
        "The member is removed",
        row=ACCOUNTANT,
        button="Remove",
        hides=ACCOUNTANT,
    ),
    Step("policy-change", "/console/approval", "The policy is proposed", {"require": "never"}, shows="Proposed"),
    Step("policy-discard", "/console/approval", "The proposal is discarded", hides="Proposed"),
    Step("policy-change", "/console/approval", "The policy is proposed", {"require": "never"}, shows="Proposed"),
    Step("policy-confirm", "/console/of/{owner_id}/approval", "The policy", who=DECIDER),
    Step(
        "billing-change",
        "/console/billing",
        "The billing details are saved",
        {"name": "Clicked GmbH"},
        shows="Clicked GmbH",
    ),
    Step(
        "profile-change",
        "/console/account",
        "The account is changed",
        {"company": "Clicked GmbH"},
        shows="Clicked GmbH",
    ),
    Step(
        "profile-change",
        "/console/account",
        "counts after its confirmation",
        {"email": "clicked@builders.example"},
    ),
    Step("email-ask", "/console/account", "A message with the link goes to|too soon"),
    Step(
        "portfolio-domain-change",
        DOMAIN,
        "The domain is changed",
        {"folder": "Clicked", "asking_price": "$1,234.50"},
        shows="1234.50",
    ),
    Step(
        "entry-add",
        DOMAIN,
        "The entry is recorded",
        {"kind": "renewal", "amount": "€ 7", "memo": "Entered by a click"},
        shows="Entered by a click",
    ),
    Step("entry-void", DOMAIN, "The entry is void", row="Entered by a click"),
    Step(
        "renewal-record",
        DOMAIN,
        "The renewal is recorded",
        {"amount": "12.34 USD", "order_ref": "Ordered by a click"},
        shows="Ordered by a click",
    ),
    Step(
        "sale-record",
        SALE,
        "The sale is recorded",
        {
            "sale.gross": "1200.00 USD",
            "sale.venue": "Clicked market",
            "sale.installments": "2027-01-20 400.00 USD",
            "sale.fees": "escrow fee 25.00 USD",
        },
        shows="Clicked market",
    ),
    Step("instalment-receive", SALE, "The instalment is booked"),
    Step("sale-void", SALE, "The sale is void", hides="Clicked market"),
    Step("portfolio-domain-add", IMPORT, "The domain is in the portfolio", {"domain": "clicked-name.com"}),
    Step(
        "portfolio-domain-remove",
        None,
        "The domain is removed",
        link="Remove this domain from the portfolio",
        hides="clicked-name.com",
        at=DOMAINS,
    ),
    Step("rate-add", CURRENCIES, "The exchange rate is saved", RATE, shows="1 USDT = 0.9 EUR"),
    Step("rate-remove", CURRENCIES, "The exchange rate is removed", hides="1 USDT = 0.9 EUR"),
    Step("base-currency-change", CURRENCIES, "The base currency is changed", {"base_currency": "USD"}),
    Step("bill-preview", f"{REGISTRARS}/bill", "Nothing was written yet", {"source": BILL, **CLICKED}),
    Step("bill-read", None, "1 charge is recorded"),
    Step("holdings-preview", f"{REGISTRARS}/list", "Nothing was written yet", {"source": LISTED, **CLICKED}),
    Step("holdings-read", None, "recorded"),
    Step("revenue-preview", "/console/portfolio/parking/file", "Nothing was written yet", {"source": REVENUE}),
    Step("revenue-read", None, "1 row is recorded"),
    Step(
        "parking-record",
        "/console/portfolio/parking",
        "1 row is recorded",
        {"domain": "harbour-lights.com", "date": "2026-10-01", "amount": "1.50 USD", "visits": "3"},
        shows="1.50",
        at="/console/portfolio/parking?days=365&domain=harbour-lights.com",
    ),
    Step(
        "domains-preview",
        "/console/portfolio/domains?tag=brand",
        "Of 3 chosen domains, 3 would change",
        {"all": "on", "set.folder": "Of the clicks"},
    ),
    Step(
        "domains-change",
        None,
        "3 domains are changed",
        shows="Of the clicks",
        at="/console/portfolio/domains?tag=brand&columns=folder",
    ),
    Step("columns-choose", DOMAINS, "The columns are saved", {"columns": "on"}, shows="Folder"),
    Step(
        "view-save",
        "/console/portfolio/domains?tag=brand",
        "The view is saved",
        {"name": "Clicked view"},
        shows="Clicked view",
        at=DOMAINS,
    ),
    Step("view-remove", DOMAINS, "The view is removed", row="Clicked view", hides="Clicked view"),
    Step("notice-acknowledge", NOTICES, "The notice is acknowledged"),
    Step("notices-read", NOTICES, "marked as read"),
    Step("samples-send", NOTICES, "sample"),
    Step("calendar-create", NOTICES, r"http\S+\.ics"),
    Step("calendar-revoke", NOTICES, "The link is revoked"),
    Step("preferences-change", NOTICES, "The preferences are saved", {"digest.hour": "17"}, shows='value="17"'),
    Step("renewals-decide", "/console", "1 decision is recorded", button="Keep"),
    Step("renewals-drop", "/console/portfolio/renewals?drop_max_income=100", "What changes"),
    Step("import-preview", IMPORT, r"Import \d rows", {"source": MESSY}),
    Step("import-start", None, "Import completed", {"save_as": "clicked"}, shows="clicked", at=IMPORT),
    Step("format-delete", IMPORT, "The mapping is deleted", row="clicked", hides="clicked"),
    Step("import-undo-check", IMPORT, "Nothing was changed yet", link="just now"),
    Step("import-undo", None, "The import is undone|Import undone"),
    Step("charge-ignore", CHARGES, "The charge is left out", row="new-pasture.com", shows="Take it back"),
    Step(
        "charge-split",
        CHARGES,
        "The charge is split, and its parts are booked",
        {"parts": "pier.net 10.00\nharbour-lights.com 3.98"},
        row="harbour-lite",
        shows="Take back the split",
    ),
    Step("charge-unsplit", CHARGES, "The split is taken back", row="harbour-lite", hides="Take back the split"),
    Step("charge-match", CHARGES, "The charge is booked", {"domain": "pier.net"}, row="harbour-lite"),
    Step("charges-apply", CHARGES, "booked"),
    Step(
        "registrar-connect",
        "/console/test/portfolio/connect?provider=godaddy",
        "The registrar accepts the credentials. It is connected.",
        {
            "credential.api_key": "gd-demo",
            "credential.api_secret": "gd-demo-secret",
            "credential.customer_id": "c-1",
            "base_url": "http://{registrars}/godaddy",
        },
    ),
    Step("registrars-sync", TEST_REGISTRARS, "Sync of domains completed"),
    Step("charges-sync", TEST_REGISTRARS, "Sync of charges completed"),
    Step("findings-fix", "/console/test/portfolio/registrars/reconcile", "done", {"ids": "on"}),
    Step(
        "auth-code",
        "/console/test/portfolio/domains?registrar=GoDaddy",
        "auth code",
        {"reason": "By a click"},
        link="marblekitchen.com",
    ),
    Step("registrar-disconnect", TEST_REGISTRARS, "The registrar is disconnected", hides="Disconnect"),
    Step("keys-revoke", "/console/keys", "No machine of the account can act"),
)
