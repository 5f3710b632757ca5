"""Examples: a name from its manifest to its promotion, and simulations."""

from pydantic.config import JsonDict

_PLAN_ID = "0193a1b2-0000-7000-8000-000000000004"
_DIGEST = "sha256:ea78b2c4292ca5c7a7ba798a299ffa9b4228fc168f02705dd56623af42fcfed9"
_KEY_ID = "0193a1b2-0000-7000-8000-000000000001"
_INVOICE_ID = "0193a1b2-0000-7000-8000-000000000006"
_NOTHING: JsonDict = {"amount": "0.00", "currency": "USD"}

MANIFEST: JsonDict = {
    "api_version": "v1",
    "kind": "Manifest",
    "metadata": {"name": "acme-mail", "labels": {"team": "mail"}},
    "project": "acme",
    "prune": True,
    "resources": {
        "projects": [{"key": "acme", "name": "Acme", "slug": "acme", "default_destination": "ops@example.net"}],
        "webhooks": [
            {"key": "main", "label": "main", "url": "https://hooks.example.com/builders", "events": ["alias.*"]}
        ],
        "aliases": [
            {"key": "ada", "address": "ada@harbour.example", "destinations": ["ada@example.net"]},
            {"key": "sales", "address": "sales@harbour.example"},
        ],
    },
}

CONSENT: JsonDict = {"plan_id": _PLAN_ID, "digest": _DIGEST, "max_total": {"amount": "24.00", "currency": "USD"}}

PLAN: JsonDict = {
    "id": _PLAN_ID,
    "format_version": "1.0",
    "status": "ready",
    "manifest": "acme-mail",
    "labels": {"team": "mail"},
    "digest": _DIGEST,
    "actions": [
        {
            "address": "alias.ada",
            "kind": "alias",
            "action": "create",
            "before": None,
            "after": {
                "address": "ada@harbour.example",
                "key": "ada",
                "destinations": ["a***@example.net"],
                "enabled": True,
                "note": None,
                "labels": {},
                "project_id": None,
            },
            "after_unknown": [],
            "changed_fields": [],
            "reason": "The name is free.",
            "risk": "low",
            "price": {"amount": "24.00", "currency": "USD", "interval": "year"},
            "requires": [],
            "signing_secret_from": None,
            "precondition": None,
        }
    ],
    "summary": {"create": 1},
    "totals": [
        {"currency": "USD", "once": _NOTHING, "month": _NOTHING, "year": {"amount": "24.00", "currency": "USD"}}
    ],
    "errors": [],
    "warnings": [],
    "promotable": True,
    "confirm_deletes": 0,
    "created_by": _KEY_ID,
    "created_at": "2026-01-05T09:30:00Z",
    "expires_at": "2026-01-06T09:30:00Z",
}

PLAN_ITEM: JsonDict = {
    "id": _PLAN_ID,
    "status": "ready",
    "manifest": "acme-mail",
    "labels": {"team": "mail"},
    "digest": _DIGEST,
    "summary": {"create": 1},
    "errors": 0,
    "warnings": 0,
    "promotable": True,
    "created_by": _KEY_ID,
    "created_at": "2026-01-05T09:30:00Z",
    "expires_at": "2026-01-06T09:30:00Z",
}

PROMOTION: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000003",
    "plan_id": _PLAN_ID,
    "status": "succeeded",
    "on_error": "stop",
    "steps": [
        {
            "address": "alias.ada",
            "action": "create",
            "status": "succeeded",
            "attempts": 1,
            "resource_id": "0193a1b2-0000-7000-8000-000000000002",
            "error": None,
            "finished_at": "2026-01-05T09:31:00Z",
            "invoice_id": _INVOICE_ID,
        }
    ],
    "summary": {"succeeded": 1},
    "invoices": [
        {"id": _INVOICE_ID, "number": "INV-2026-000123", "total": {"amount": "24.00", "currency": "USD"}}
    ],
    "error": None,
    "next_actions": ["confirm_destinations"],
    "next_action_details": [
        {
            "action": "confirm_destinations",
            "message": (
                "Mail is not forwarded to these addresses until their recipients follow the emailed link. POST "
                "/v1/aliases/destinations/resend sends it again; GET /v1/aliases/destinations shows the "
                "confirmations."
            ),
            "emails": ["ops@example.net"],
            "invoice_ids": [],
        }
    ],
    "created_by": _KEY_ID,
    "started_at": "2026-01-05T09:31:00Z",
    "finished_at": "2026-01-05T09:31:00Z",
}

# Most of `properties` and `$defs` is omitted.
SCHEMA: JsonDict = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://api.builders.example/v1/sandbox/manifest.schema.json",
    "title": "SandboxManifest",
    "description": "The desired state.",
    "type": "object",
    "required": ["api_version", "kind", "metadata", "resources"],
    "properties": {"api_version": {"const": "v1", "title": "Api Version", "type": "string"}},
    "$defs": {},
    "additionalProperties": False,
    "examples": [],
}


_WEBHOOK = "0193a1b2-0000-7000-8000-000000000005"
_EVENT = "0193a1b2-0000-7000-8000-00000000000e"
_ALIAS: JsonDict = {"id": "0193a1b2-0000-7000-8000-000000000002", "address": "ada@harbour.example"}

REQUESTS: tuple[JsonDict, ...] = (
    {"type": "event", "event": "alias.created", "overrides": _ALIAS},
    {"type": "manifest", "manifest": MANIFEST, "fail_at": {"alias.ada": "taken"}},
    {"type": "check", "addresses": ["ada@harbour.example"]},
    {"type": "reset"},
)

EVENT: JsonDict = {
    "type": "event",
    "simulated": True,
    "livemode": False,
    "event": "alias.created",
    "event_id": _EVENT,
    "matched": [{"webhook_id": _WEBHOOK, "label": "main", "would_deliver": True, "skip_reason": None}],
    "rendered": [
        {
            "webhook_id": _WEBHOOK,
            "method": "POST",
            "url": "https://hooks.example.com/builders",
            "headers": {
                "content-type": "application/json",
                "webhook-id": _EVENT,
                "webhook-timestamp": "1767605400",
                "webhook-signature": "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=",
                "webhook-attempt": "1",
            },
            "body": f'{{"id":"{_EVENT}","type":"alias.created","livemode":false,"simulated":true,"data":{{}}}}',
        }
    ],
    "delivery_ids": [],
}

CHECK: JsonDict = {
    "type": "check",
    "simulated": True,
    "livemode": False,
    "results": [
        {
            "address": "ada@harbour.example",
            "available": True,
            "reason": "ok",
            "message": "",
            "normalized": "ada@harbour.example",
            "price": {"amount": "24.00", "currency": "USD", "interval": "year"},
        }
    ],
}

_NAME_PRICE: JsonDict = {"amount": "24.00", "currency": "USD"}
_FREE: JsonDict = {"amount": "0.00", "currency": "USD"}

REHEARSAL: JsonDict = {
    "type": "manifest",
    "simulated": True,
    "livemode": False,
    "persisted": False,
    "plan": {
        name: PLAN[name]
        for name in (
            *("status", "manifest", "labels", "actions", "summary", "totals", "errors", "warnings"),
            "confirm_deletes",
        )
    },
    "promotion": {
        "status": "succeeded",
        "on_error": "stop",
        "steps": [
            {
                "address": "alias.ada",
                "action": "create",
                "status": "succeeded",
                "resource_id": "0193a1b2-0000-7000-8000-000000000002",
                "error": None,
            }
        ],
        "summary": {"succeeded": 1},
    },
    "invoices": [
        {
            "id": None,
            "number": None,
            "currency": "USD",
            "lines": [
                {
                    "description": "ada@harbour.example",
                    "alias_id": "0193a1b2-0000-7000-8000-000000000002",
                    "quantity": 1,
                    "unit_amount": _NAME_PRICE,
                }
            ],
            "subtotal": _NAME_PRICE,
            "tax_total": _FREE,
            "total": _NAME_PRICE,
            "credit_applied": _FREE,
            "amount_due": _NAME_PRICE,
        }
    ],
}

RESET: JsonDict = {
    "type": "reset",
    "simulated": True,
    "livemode": False,
    "cleared": {"aliases": 3, "projects": 1, "domains": 0, "invoices": 1, "webhooks": 1, "deliveries": 12},
}
