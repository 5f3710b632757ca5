"""Refusals of the invoices."""

from builders.kit.errors import Problem


class InvoiceNotFound(Problem):
    """The account has no such invoice."""

    status, code = 404, "invoice_not_found"
    default_detail = "There is no such invoice."
    remedy = "List the invoices: GET /v1/invoices."
    collection = "/v1/invoices"


class InvalidTransition(Problem):
    """The invoice cannot become that."""

    status, code = 409, "invalid_transition"


class NothingDue(Problem):
    """Nothing of the invoice is left to be paid."""

    status, code = 409, "nothing_due"


class StripeNotConfigured(Problem):
    """Payment by link is not set up here."""

    status, code = 503, "stripe_not_configured"


class StripeAway(Problem):
    """Stripe cannot be reached."""

    status, code = 503, "stripe_away"


class StripeRefused(Problem):
    """Stripe refused."""

    status, code = 502, "stripe_refused"


class EventMalformed(Problem):
    """The signed body is no event of Stripe."""

    status, code = 400, "event_malformed"


class SignatureInvalid(Problem):
    """The signature is not Stripe's."""

    status, code = 400, "signature_invalid"
