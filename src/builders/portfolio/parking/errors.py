"""Refusals of parking revenue."""

from builders.kit.errors import Problem


class ParkingLimit(Problem):
    """The portfolio has as many days of parking revenue as it can have."""

    status, code = 409, "parking_limit"
    remedy = "Record the revenue of a longer period as one day, with its sum."
