"""The status by example."""

from pydantic.config import JsonDict

STATUS: JsonDict = {
    "mode": "test",
    "livemode": False,
    "can": {"simulate": True, "plan": True, "promote": False},
    "reasons": ["live_key_required"],
    "why_not": {"simulate": [], "plan": [], "promote": ["live_key_required"]},
    "counts": {"plans_open": 1, "promotions_running": 0},
    "open_plans": [
        {
            "id": "0193a1b2-0000-7000-8000-000000000004",
            "manifest": "acme-mail",
            "status": "ready",
            "created_at": "2026-01-05T09:30:00Z",
            "expires_at": "2026-01-06T09:30:00Z",
        }
    ],
    "sandbox": {"aliases": 3, "projects": 1, "webhooks": 1},
    "limits": {
        "max_resources": 2000,
        "manifest_bytes": 1048576,
        "plan_ttl_s": 86400,
        "checks": 50,
        "plans_per_minute": 60,
        "simulations_per_minute": 60,
        "simulated_deliveries_per_minute": 60,
    },
    "supported": {
        "api_versions": ["v1"],
        "kinds": ["project", "domain", "webhook", "alias"],
        "events": ["alias.created", "alias.deleted", "alias.updated", "promotion.completed", "promotion.failed"],
    },
}
