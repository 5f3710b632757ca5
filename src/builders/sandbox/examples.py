"""What is sent to the sandbox and what it answers, by example: one name from its manifest to its promotion."""

from pydantic.config import JsonDict

_PLAN_ID = "0193a1b2-0000-7000-8000-000000000004"
_DIGEST = "sha256:ea78b2c4292ca5c7a7ba798a299ffa9b4228fc168f02705dd56623af42fcfed9"
_KEY_ID = "0193a1b2-0000-7000-8000-000000000001"
_NOTHING: JsonDict = {"amount": "0.00", "currency": "USD"}

MANIFEST: JsonDict = {
    "api_version": "v1",
    "kind": "Manifest",
    "metadata": {"name": "acme-mail", "labels": {"team": "mail"}},
    "resources": {
        "aliases": [{"key": "ada", "address": "ada@harbour.example", "destinations": ["ada@example.net"]}]
    },
}

CONSENT: JsonDict = {
    "plan_id": _PLAN_ID,
    "digest": _DIGEST,
    "max_total": {"amount": "24.00", "currency": "USD"},
}

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
            },
            "changed_fields": [],
            "reason": "The name is wanted and free.",
            "risk": "low",
            "price": {"amount": "24.00", "currency": "USD", "interval": "year"},
            "precondition": None,
        }
    ],
    "summary": {"create": 1},
    "totals": [
        {
            "currency": "USD",
            "once": _NOTHING,
            "month": _NOTHING,
            "year": {"amount": "24.00", "currency": "USD"},
        }
    ],
    "errors": [],
    "warnings": [],
    "promotable": True,
    "confirm_deletes": 0,
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
        }
    ],
    "summary": {"succeeded": 1},
    "next_actions": [],
    "created_by": _KEY_ID,
    "started_at": "2026-01-05T09:31:00Z",
    "finished_at": "2026-01-05T09:31:00Z",
}

STATUS: JsonDict = {
    "mode": "test",
    "livemode": False,
    "can": {"plan": True, "promote": False},
    "reasons": ["live_key_required"],
    "counts": {"plans_open": 1, "promotions_running": 0},
    "limits": {"max_resources": 2000, "manifest_bytes": 2097152, "plan_ttl_s": 86400},
    "supported": {
        "api_versions": ["v1"],
        "kinds": ["alias"],
        "events": [
            "alias.created",
            "alias.deleted",
            "alias.updated",
            "promotion.completed",
            "promotion.failed",
        ],
    },
}
