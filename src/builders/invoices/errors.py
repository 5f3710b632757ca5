"""Errors of the invoices."""

from builders.kit.errors import Problem


class InvoiceNotFound(Problem):
    """The account has no such invoice."""

    status, code = 404, "invoice_not_found"
    default_detail = "There is no such invoice."
    remedy = "List the invoices: GET /v1/invoices."
    collection = "/v1/invoices"
    search = "number"


class InvalidTransition(Problem):
    """The status of the invoice does not allow this transition."""

    status, code = 409, "invalid_transition"
    remedy = "Read the invoice again: GET /v1/invoices/{invoice_id}."


class NothingDue(Problem):
    """The invoice has no amount due."""

    status, code = 409, "nothing_due"
    remedy = "Nothing remains to be paid; read the invoice: GET /v1/invoices/{invoice_id}."


class StripeNotConfigured(Problem):
    """Payment links are not configured."""

    status, code = 503, "stripe_not_configured"
    remedy = "Pay by bank transfer; the invoice contains the account."


class StripeUnavailable(Problem):
    """Stripe did not respond."""

    status, code = 503, "stripe_unavailable"
    remedy = "Repeat the request after the seconds of Retry-After, or pay by bank transfer."


class StripeRefused(Problem):
    """Stripe refused the request."""

    status, code = 502, "stripe_refused"
    remedy = "Try again later, or pay by bank transfer."


class EventMalformed(Problem):
    """The signed body is not a Stripe event."""

    status, code = 400, "event_malformed"
    remedy = "Check the endpoint and its API version in the dashboard of Stripe."


class SignatureInvalid(Problem):
    """The signature is not valid."""

    status, code = 400, "signature_invalid"
    remedy = "Compare the signing secret in the dashboard of Stripe with BUILDERS_STRIPE_WEBHOOK_SECRET."
