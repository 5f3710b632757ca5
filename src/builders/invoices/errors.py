"""Errors of the invoices."""

from builders.kit.errors import Problem


class InvoiceNotFound(Problem):
    """The account has no such invoice."""

    status, code = 404, "invoice_not_found"
    default_detail = "There is no such invoice."
    remedy = "List the invoices: GET /v1/invoices."
    collection = "/v1/invoices"


class InvalidTransition(Problem):
    """The status of the invoice does not allow this transition."""

    status, code = 409, "invalid_transition"


class NothingDue(Problem):
    """The invoice has no amount due."""

    status, code = 409, "nothing_due"


class StripeNotConfigured(Problem):
    """Payment links are not configured."""

    status, code = 503, "stripe_not_configured"


class StripeAway(Problem):
    """Stripe did not respond."""

    status, code = 503, "stripe_away"


class StripeRefused(Problem):
    """Stripe refused the request."""

    status, code = 502, "stripe_refused"


class EventMalformed(Problem):
    """The signed body is not a Stripe event."""

    status, code = 400, "event_malformed"


class SignatureInvalid(Problem):
    """The signature is not valid."""

    status, code = 400, "signature_invalid"
