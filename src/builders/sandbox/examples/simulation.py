"""Simulations by example: an event, a manifest with a failure, a batch of checks, a reset."""

from pydantic.config import JsonDict

from builders.sandbox.examples import plans

_WEBHOOK = "0193a1b2-0000-7000-8000-000000000005"
_EVENT = "0193a1b2-0000-7000-8000-00000000000e"
_ALIAS: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000002",
    "address": "ada@harbour.example",
}

REQUESTS: tuple[JsonDict, ...] = (
    {"type": "event", "event": "alias.created", "overrides": _ALIAS},
    {"type": "manifest", "manifest": plans.MANIFEST, "fail_at": {"alias.ada": "taken"}},
    {"type": "check", "addresses": ["ada@harbour.example"]},
    {"type": "reset"},
)

EVENT: JsonDict = {
    "type": "event",
    "simulated": True,
    "livemode": False,
    "event": "alias.created",
    "event_id": _EVENT,
    "matched": [
        {"webhook_id": _WEBHOOK, "label": "main", "would_deliver": True, "skip_reason": None},
    ],
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

MANIFEST: JsonDict = {
    "type": "manifest",
    "simulated": True,
    "livemode": False,
    "persisted": False,
    "plan": {
        name: plans.PLAN[name]
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
