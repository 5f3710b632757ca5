"""The endpoint tables of the specification as data: 75 operations, and those of them not built yet."""

from tests.contract.shape import Auth, Body, Param, area, query, row

PAGE = (query("limit", "integer", low=1, high=500), query("cursor"))
DAYS = query("days", "integer", low=1, high=365, default=30)
MEMBER = Param(name="member_account_id", where="path", required=True, format="uuid")
TOKEN = query("token", required=True, length=8)

OPERATIONS = (
    *area("probes", row("GET /livez"), row("GET /health"), row("GET /readyz"), auth=Auth.PUBLIC),
    *area(
        "tracking",
        row("GET /v1/t/o/{token}"),
        row("GET /v1/t/c/{token}", query("u", required=True), query("m", required=True)),
        auth=Auth.PUBLIC,
    ),
    *area(
        "catalog",
        row("GET /v1/catalog/assets/{filename}"),
        row("GET /v1/catalog/domains", query("category"), query("q"), *PAGE),
        row("GET /v1/catalog/domains/{domain}"),
        row("GET /v1/catalog/categories"),
        row(
            "GET /v1/catalog/check",
            query("local_part", required=True, length=1),
            query("domain", required=True, length=1),
        ),
        row(
            "GET /v1/catalog/suggest",
            query("q", default=""),
            query("limit", "integer", low=1, high=24, default=12),
        ),
        row("POST /v1/catalog/events", body="CatalogFunnelEventRequest"),
        auth=Auth.PUBLIC,
    ),
    *area(
        "leads",
        row("POST /v1/leads", body="CreateLeadRequest", status=201),
        row("GET /v1/leads/confirm", TOKEN),
        row("POST /public/v1/builders/waitlist", body="BuildersWaitlistRequest", status=201),
        auth=Auth.PUBLIC,
    ),
    *area(
        "projects",
        row("GET /v1/builders/projects", query("include_archived", "boolean", default=False)),
        row("POST /v1/builders/projects", body="ProjectCreate", status=201),
        row("GET /v1/builders/projects/{project_id}"),
        row("PATCH /v1/builders/projects/{project_id}", body="ProjectUpdate"),
        row("DELETE /v1/builders/projects/{project_id}"),
    ),
    *area(
        "sandbox",
        row("GET /v1/sandbox/status"),
        row("POST /v1/sandbox/simulate", body="SandboxSimulateRequest"),
        row("POST /v1/sandbox/plan", body="SandboxManifest"),
        row("POST /v1/sandbox/promote", body="SandboxPromoteRequest"),
    ),
    *area(
        "profile",
        row("GET /v1/auth/session"),
        row("POST /v1/auth/login-as", body="LoginAsRedeemRequest", auth=Auth.ACCEPTED),
        row("GET /v1/me"),
        row("PATCH /v1/me", body="CustomerProfileUpdate"),
        row("GET /v1/account/email-verification"),
        row("POST /v1/account/email-verification/resend"),
        row("GET /v1/account/email-verification/confirm", TOKEN, auth=Auth.ACCEPTED),
    ),
    *area("domains", row("GET /v1/domains", *PAGE), row("GET /v1/domains/claimable")),
    *area(
        "portfolio",
        row("GET /v1/portfolio/domains", *PAGE),
        row("POST /v1/portfolio/domains", body=Body.REQUIRED, status=201),
        row("GET /v1/portfolio/domains/{domain_id}/finance"),
        row("PATCH /v1/portfolio/domains/{domain_id}/finance", body=Body.REQUIRED),
        row("POST /v1/portfolio/domains/{domain_id}/finance/renewals", body=Body.REQUIRED),
        row("GET /v1/portfolio/renewals", query("within_days", "integer", low=1, high=365, default=30)),
        row("PATCH /v1/portfolio/renewals/bulk", body=Body.REQUIRED),
        row("GET /v1/portfolio/parking", DAYS),
        row("GET /v1/portfolio/parking.csv", DAYS),
        row("POST /v1/portfolio/parking/revenue", body=Body.REQUIRED, status=201),
        row("GET /v1/portfolio/registrars"),
        row("GET /v1/portfolio/registrars/inventory", query("provider")),
        row("GET /v1/portfolio/registrars/reconcile"),
        row("POST /v1/portfolio/registrars/sync"),
        row("POST /v1/portfolio/registrars/billing/sync", body=Body.OPTIONAL),
        row("POST /v1/portfolio/registrars/billing/ensure", body=Body.OPTIONAL),
        row(
            "GET /v1/portfolio/registrars/billing/charges",
            query("unmatched_only", "boolean", default=False),
            query("limit", "integer", default=200),
        ),
        row("POST /v1/portfolio/registrars/billing/charges/apply"),
        row("POST /v1/portfolio/registrars/billing/import", body=Body.REQUIRED),
        row("GET /v1/portfolio/registrars/billing/templates"),
        row("POST /v1/portfolio/registrars/inventory/import", body=Body.REQUIRED),
        row("PUT /v1/portfolio/registrars/{provider}", body=Body.REQUIRED),
        row("DELETE /v1/portfolio/registrars/{provider}"),
        row("GET /v1/portfolio/team"),
        row("POST /v1/portfolio/team/invites", body=Body.REQUIRED, status=201),
        row("DELETE /v1/portfolio/team/invites/{invite_id}", status=204),
        row("POST /v1/portfolio/team/accept", body=Body.REQUIRED),
        row("PATCH /v1/portfolio/team/members/{member_account_id}", MEMBER, body=Body.REQUIRED),
        row("DELETE /v1/portfolio/team/members/{member_account_id}", MEMBER, status=204),
        row("POST /v1/portfolio/import", body=Body.REQUIRED),
        row("GET /v1/portfolio/notifications/preferences"),
        row("PATCH /v1/portfolio/notifications/preferences", body=Body.REQUIRED),
        row("POST /v1/portfolio/notifications/test", body=Body.REQUIRED),
        row("GET /v1/portfolio/webhooks/catalog"),
        row("POST /v1/portfolio/webhooks/{webhook_id}/test"),
        row("POST /v1/portfolio/domains/{domain_id}/auth-code"),
        row("GET /v1/portfolio/domains/{domain_id}/transfer"),
    ),
    *area(
        "identity",
        row("POST /v1/api-keys", body=Body.REQUIRED, scope="keys:write"),
        row("GET /v1/api-keys/scopes"),
        auth=Auth.KEY,
    ),
    *area(
        "webhooks",
        row("POST /v1/notifications/webhooks", body=Body.REQUIRED, scope="notifications:write"),
        row("GET /v1/notifications/deliveries"),
        row("POST /v1/notifications/deliveries/{id}/retry"),
        auth=Auth.KEY,
    ),
)

# The members of the two bodies that the specification lists: whether each is required, then the closed sets.
MEMBERS = {
    "POST /v1/api-keys": {"label": True, "key_kind": True, "preset": True},
    "POST /v1/notifications/webhooks": {
        "label": True,
        "url": True,
        "enabled": True,
        "events": True,
        "signing_secret": False,
    },
}
CLOSED_SETS = {
    "POST /v1/api-keys": {
        "key_kind": {"live", "test"},
        "preset": {"domainer_full", "developer_full"},
    },
}

# An answer that reports a state and refuses nothing, so that it is no problem+json: what is away, in words.
REPORTS = frozenset({"GET /readyz 503"})

# Operations beyond the specification that need no credentials.
PUBLIC_BEYOND: frozenset[str] = frozenset(
    {
        "GET /.well-known/jwks.json",
        "POST /v1/auth/login",
        "POST /v1/auth/login/redeem",
        "GET /v1/auth/login",
        "GET /v1/auth/login/issuer",
        "GET /v1/auth/login/callback",
        "POST /v1/auth/login/page",
        "POST /v1/auth/device/authorize",
        "POST /v1/auth/device/token",
        "POST /v1/auth/leaked-keys",
        "POST /v1/account/email-verification/confirm/page",
        "GET /v1/account/erasure/cancel",
        "POST /v1/account/erasure/cancel",
        "POST /v1/leads/confirm/page",
        "GET /v1/aliases/destinations/confirm",
        "POST /v1/aliases/destinations/confirm/page",
        "POST /v1/invoices/stripe",
        "GET /v1/sandbox/manifest.schema.json",
        "GET /v1/mail/unsubscribe/{token}",
        "POST /v1/mail/unsubscribe/{token}",
        "GET /v1/portfolio/renewals.ics",
    }
)

# The one list of operations that need no credentials, whatever they accept.
PUBLIC = PUBLIC_BEYOND | {each.name for each in OPERATIONS if each.auth in {Auth.PUBLIC, Auth.ACCEPTED}}
