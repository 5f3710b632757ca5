"""Each form of the console: where it is, what a person types, and what they see afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.console.browser.account import MESSY
from tests.console.browser.people import ACCOUNTANT, DECIDER, OWNER


@dataclass(frozen=True, slots=True)
class Step:
    """A form that a person sends: where it is, what they type, and what they see afterwards."""

    path: str | None  # of the page with the form; None for the page that the form before leads to
    says: str  # a pattern of the next page
    typed: Mapping[str, str] = field(default_factory=dict)  # by the name of the field
    link: str | None = None  # followed on the page first
    row: str | None = None  # a text of the row that has the form
    button: str | None = None  # of several
    who: str = OWNER
    shows: tuple[str, str] | None = None  # another page, and a text in its source afterwards
    hides: tuple[str, str] | None = None  # the same of a text that is gone


FIRST = "(the first one)"  # of the options of a select
CHARGES = "/console/portfolio/registrars/charges"
# In this order; a form follows what it needs.
STEPS: Sequence[tuple[str, Step]] = (
    (
        "project-add",
        Step(
            "/console/projects",
            "The project is created",
            {"name": "Clicked"},
            shows=("/console/projects", "Clicked"),
        ),
    ),
    (
        "project-change",
        Step(
            "/console/projects",
            "The project is changed",
            {"name": "Clicked twice"},
            link="Clicked",
            shows=("/console/projects", "Clicked twice"),
        ),
    ),
    (
        "project-archive",
        Step(
            "/console/projects",
            "The project is archived",
            link="Clicked twice",
            hides=("/console/projects", "Clicked twice"),
        ),
    ),
    (
        "claim",
        Step(
            "/console/claim?local_part=zoe&domain=harbour.example",
            "zoe@harbour.example",
            {"destination": "ada@example.net"},
            shows=("/console/plans", "console"),
        ),
    ),
    ("plan-ask", Step("/console/plans/{plan_id}", "The people who decide are asked")),
    (
        "plan-reject",
        Step(
            "/console/of/{owner_id}/plans/{plan_id}",
            "Your rejection is recorded",
            {"comment": "Too many names."},
            who=DECIDER,
            shows=("/console/of/{owner_id}/plans/{plan_id}", "Too many names."),
        ),
    ),
    ("plan-withdraw", Step("/console/of/{owner_id}/plans/{plan_id}", "Your decision is withdrawn", who=DECIDER)),
    (
        "plan-approve",
        Step(
            "/console/of/{owner_id}/plans/{plan_id}",
            "Your approval is recorded. The plan is approved.",
            {"comment": "As agreed."},
            who=DECIDER,
            shows=("/console/of/{owner_id}/plans/{plan_id}", "As agreed."),
        ),
    ),
    ("plan-promote", Step("/console/plans/{plan_id}", "Promotion")),
    (
        "names-change",
        Step(
            "/console/names",
            "Of the clicks",
            {"ids": "on", "note": "Of the clicks"},
            shows=("/console/plans", "console"),
        ),
    ),
    (
        "name-change",
        Step(
            "/console/names/{alias_id}",
            "The name is changed",
            {"note": "Of a click"},
            shows=("/console/names/{alias_id}", "Of a click"),
        ),
    ),
    ("destination-ask", Step("/console", "It is too soon to send another confirmation")),
    (
        "reception-set",
        Step(
            "/console/names/{alias_id}",
            "The mail to this name is received as events",
            {"webhook_id": FIRST, "key_id": FIRST},
        ),
    ),
    (
        "reception-end",
        Step(
            "/console/names/{alias_id}",
            "no longer received as events",
            hides=("/console/names/{alias_id}", "End it, and delete the stored messages"),
        ),
    ),
    (
        "name-release",
        Step("/console/names/{alias_id}", "The name is released", shows=("/console/names/{alias_id}", "deleted")),
    ),
    (
        "domain-add",
        Step(
            "/console/domains",
            "The domain is added",
            {"domain": "clicked.example", "default_destination": "ada@example.net"},
            shows=("/console/domains", "clicked.example"),
        ),
    ),
    ("domain-verify", Step("/console/domains", "DNS|the record", link="clicked.example")),
    (
        "domain-change",
        Step(
            "/console/domains",
            "The domain is changed",
            {"default_destination": "grace@example.net"},
            link="clicked.example",
        ),
    ),
    (
        "domain-release",
        Step(
            "/console/domains",
            "The domain is released",
            link="clicked.example",
            hides=("/console/domains", "clicked.example"),
        ),
    ),
    (
        "webhook-add",
        Step(
            "/console/webhooks",
            "The signing secret",
            {"label": "clicked", "url": "https://93.184.215.14/clicked"},
            shows=("/console/webhooks", "clicked"),
        ),
    ),
    (
        "webhook-change",
        Step(
            "/console/webhooks",
            "The destination is changed",
            {"label": "clicked again"},
            link="clicked",
            shows=("/console/webhooks", "clicked again"),
        ),
    ),
    ("webhook-rotate", Step("/console/webhooks", "whsec_", link="clicked again")),
    ("webhook-test", Step("/console/webhooks/{webhook_id}", "The test event was sent, but not accepted.*500")),
    (
        "webhook-replay",
        Step("/console/webhooks/{webhook_id}", "Nothing is sent again|sent again", {"since": "2026-01-01T00:00"}),
    ),
    (
        "webhook-delete",
        Step(
            "/console/webhooks",
            "The destination is deleted",
            link="clicked again",
            hides=("/console/webhooks", "clicked again"),
        ),
    ),
    ("delivery-retry", Step("/console/deliveries/{failed_id}", "The event was sent, but not accepted.*500")),
    ("key-mint", Step("/console/keys", "svc_test_", {"label": "clicked"}, shows=("/console/keys", "clicked"))),
    ("key-rotate", Step("/console/keys", "svc_test_", row="clicked")),
    ("key-revoke", Step("/console/keys", "The key is revoked", row="clicked", shows=("/console/keys", "revoked"))),
    ("device-find", Step("/console/device", "Keys for a machine", {"user_code": "{user_code}"})),
    ("device-approve", Step("/console/device/{request_id}", "Approved. Go back to the terminal.")),
    ("device-deny", Step("/console/device/{request_id}", "The machine gets no key")),
    ("session-end", Step("/console/sessions", "The session has ended")),
    (
        "member-invite",
        Step(
            "/console/team",
            "The invitation is made",
            {"email": "clicked@example.net"},
            shows=("/console/team", "clicked@"),
        ),
    ),
    (
        "invite-revoke",
        Step("/console/team", "The invitation is revoked", row="clicked@", hides=("/console/team", "clicked@")),
    ),
    ("member-change", Step("/console/team", "The member is changed", row=ACCOUNTANT, button="Let decide")),
    (
        "member-change",
        Step(
            "/console/team",
            "The member is changed",
            {"role": "viewer"},
            row=ACCOUNTANT,
            shows=("/console/team", "viewer"),
        ),
    ),
    ("decider-confirm", Step("/console/team", "The person is confirmed", row=ACCOUNTANT)),
    (
        "member-remove",
        Step(
            "/console/team",
            "The member is removed",
            row=ACCOUNTANT,
            button="Remove",
            hides=("/console/team", ACCOUNTANT),
        ),
    ),
    (
        "policy-change",
        Step(
            "/console/approval",
            "The policy is proposed",
            {"require": "never"},
            shows=("/console/approval", "Proposed"),
        ),
    ),
    (
        "policy-discard",
        Step("/console/approval", "The proposal is discarded", hides=("/console/approval", "Proposed")),
    ),
    (
        "policy-change",
        Step(
            "/console/approval",
            "The policy is proposed",
            {"require": "never"},
            shows=("/console/approval", "Proposed"),
        ),
    ),
    ("policy-confirm", Step("/console/of/{owner_id}/approval", "The policy", who=DECIDER)),
    (
        "billing-change",
        Step(
            "/console/billing",
            "The billing details are saved",
            {"name": "Clicked GmbH"},
            shows=("/console/billing", "Clicked GmbH"),
        ),
    ),
    (
        "profile-change",
        Step(
            "/console/account",
            "The account is changed",
            {"company": "Clicked GmbH"},
            shows=("/console/account", "Clicked GmbH"),
        ),
    ),
    (
        "profile-change",
        Step("/console/account", "counts after its confirmation", {"email": "clicked@builders.example"}),
    ),
    ("email-ask", Step("/console/account", "A message with the link goes to|too soon")),
    (
        "portfolio-domain-change",
        Step(
            "/console/portfolio/domains/{domain_id}",
            "The domain is changed",
            {"folder": "Clicked", "asking_price": "$1,234.50"},
            shows=("/console/portfolio/domains/{domain_id}", "1234.50"),
        ),
    ),
    (
        "entry-add",
        Step(
            "/console/portfolio/domains/{domain_id}",
            "The entry is recorded",
            {"kind": "renewal", "amount": "€ 7", "memo": "Entered by a click"},
            shows=("/console/portfolio/domains/{domain_id}", "Entered by a click"),
        ),
    ),
    ("entry-void", Step("/console/portfolio/domains/{domain_id}", "The entry is void", row="Entered by a click")),
    (
        "renewal-record",
        Step(
            "/console/portfolio/domains/{domain_id}",
            "The renewal is recorded",
            {"amount": "12.34 USD", "order_ref": "Ordered by a click"},
            shows=("/console/portfolio/domains/{domain_id}", "Ordered by a click"),
        ),
    ),
    (
        "sale-record",
        Step(
            "/console/portfolio/domains/{domain_id}",
            "The sale is recorded",
            {"sale.gross": "1200.00 USD", "sale.venue": "Clicked market"},
            shows=("/console/portfolio/domains/{domain_id}", "Clicked market"),
        ),
    ),
    (
        "parking-record",
        Step(
            "/console/portfolio/parking",
            "1 row is recorded",
            {"domain": "harbour-lights.com", "date": "2026-10-01", "amount": "1.50 USD", "visits": "3"},
            shows=("/console/portfolio/parking?days=365&domain=harbour-lights.com", "1.50"),
        ),
    ),
    (
        "domains-preview",
        Step(
            "/console/portfolio/domains?tag=brand",
            "Of 3 chosen domains, 3 would change",
            {"all": "on", "set.folder": "Of the clicks"},
        ),
    ),
    (
        "domains-change",
        Step(
            None,
            "3 domains are changed",
            shows=("/console/portfolio/domains?tag=brand&columns=folder", "Of the clicks"),
        ),
    ),
    (
        "columns-choose",
        Step(
            "/console/portfolio/domains",
            "The columns are saved",
            {"columns": "on"},
            shows=("/console/portfolio/domains", "Folder"),
        ),
    ),
    (
        "view-save",
        Step(
            "/console/portfolio/domains?tag=brand",
            "The view is saved",
            {"name": "Clicked view"},
            shows=("/console/portfolio/domains", "Clicked view"),
        ),
    ),
    (
        "view-remove",
        Step(
            "/console/portfolio/domains",
            "The view is removed",
            row="Clicked view",
            hides=("/console/portfolio/domains", "Clicked view"),
        ),
    ),
    ("notice-acknowledge", Step("/console/portfolio/notices", "The notice is acknowledged")),
    ("notices-read", Step("/console/portfolio/notices", "marked as read")),
    ("calendar-create", Step("/console/portfolio/notices", r"http\S+\.ics")),
    ("calendar-revoke", Step("/console/portfolio/notices", "The link is revoked")),
    (
        "preferences-change",
        Step(
            "/console/portfolio/notices",
            "The preferences are saved",
            {"digest.hour": "17"},
            shows=("/console/portfolio/notices", 'value="17"'),
        ),
    ),
    ("renewals-decide", Step("/console", "1 decision is recorded", button="Keep")),
    ("renewals-drop", Step("/console/portfolio/renewals?drop_max_income=100", "What changes")),
    ("import-preview", Step("/console/portfolio/import", r"Import \d rows", {"source": MESSY})),
    (
        "import-start",
        Step(None, "Import completed", {"save_as": "clicked"}, shows=("/console/portfolio/import", "clicked")),
    ),
    (
        "format-delete",
        Step(
            "/console/portfolio/import",
            "The mapping is deleted",
            row="clicked",
            hides=("/console/portfolio/import", "clicked"),
        ),
    ),
    ("import-undo-check", Step("/console/portfolio/import", "Nothing was changed yet", link="just now")),
    ("import-undo", Step(None, "The import is undone|Import undone")),
    (
        "charge-ignore",
        Step(CHARGES, "The charge is left out", row="new-pasture.com", shows=(CHARGES, "Take it back")),
    ),
    (
        "charge-split",
        Step(
            CHARGES,
            "The charge is split, and its parts are booked",
            {"parts": "pier.net 10.00\nharbour-lights.com 3.98"},
            row="harbour-lite",
            shows=(CHARGES, "Take back the split"),
        ),
    ),
    (
        "charge-unsplit",
        Step(CHARGES, "The split is taken back", row="harbour-lite", hides=(CHARGES, "Take back the split")),
    ),
    ("charge-match", Step(CHARGES, "The charge is booked", {"domain": "pier.net"}, row="harbour-lite")),
    ("charges-apply", Step(CHARGES, "booked")),
    (
        "registrar-connect",
        Step(
            "/console/test/portfolio/connect?provider=godaddy",
            "The registrar accepts the credentials. It is connected.",
            {
                "credential.api_key": "gd-demo",
                "credential.api_secret": "gd-demo-secret",
                "credential.customer_id": "c-1",
                "base_url": "http://{registrars}/godaddy",
            },
        ),
    ),
    ("registrars-sync", Step("/console/test/portfolio/registrars", "Sync of domains completed")),
    ("charges-sync", Step("/console/test/portfolio/registrars", "Sync of charges completed")),
    ("findings-fix", Step("/console/test/portfolio/registrars/reconcile", "done", {"ids": "on"})),
    (
        "auth-code",
        Step(
            "/console/test/portfolio/domains?registrar=GoDaddy",
            "auth code",
            {"reason": "By a click"},
            link="marblekitchen.com",
        ),
    ),
    (
        "registrar-disconnect",
        Step(
            "/console/test/portfolio/registrars",
            "The registrar is disconnected",
            hides=("/console/test/portfolio/registrars", "Disconnect"),
        ),
    ),
    ("keys-revoke", Step("/console/keys", "The account has no active key")),
)
