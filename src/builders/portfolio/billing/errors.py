"""Refusals of billing."""

from builders.kit.errors import Problem


class ChargeNotFound(Problem):
    """There is no such charge."""

    status, code = 404, "charge_not_found"
    remedy = "List the charges: GET /v1/portfolio/registrars/billing/charges."


class ChargeNotOpen(Problem):
    """The charge is booked, ignored or split."""

    status, code = 409, "charge_not_open"
    remedy = "Look at its `state` and `split_of`: GET /v1/portfolio/registrars/billing/charges."
