"""Refusals of aliases."""

from collections.abc import Mapping

from builders.aliases.records import Availability, Name
from builders.kit.errors import Problem


class NamesRefused(Problem):
    """Some of the names cannot be claimed."""

    status, code = 409, "names_refused"

    def __init__(self, refused: Mapping[Name, Availability]) -> None:
        listed = ", ".join(f"{name.key}@{name.domain} ({each.reason})" for name, each in refused.items())
        super().__init__(f"Not available: {listed}.")
        self.refused = refused


class PricesChanged(Problem):
    """The price of a name changed between plan and claim."""

    status, code = 409, "prices_changed"

    def __init__(self, names: frozenset[Name]) -> None:
        listed = ", ".join(f"{name.key}@{name.domain}" for name in sorted(names))
        super().__init__(f"The price of a name changed in the meantime: {listed}.", next_action="Plan again.")
        self.names = names


class AliasNotFound(Problem):
    """There is no such alias."""

    status, code = 404, "alias_not_found"
    remedy = "List the names: GET /v1/aliases."
    collection = "/v1/aliases"
    search = "q"


class AliasSuspended(Problem):
    """The alias is suspended."""

    status, code = 409, "alias_suspended"
    remedy = "Pay its invoice to restore it, or ask the operator."


class AliasReleased(Problem):
    """The alias was released."""

    status, code = 409, "alias_released"
    remedy = "Claim the name again with a manifest."


class DestinationNotFound(Problem):
    """No alias has such a destination."""

    status, code = 404, "destination_not_found"
    remedy = "List the destinations: GET /v1/aliases/destinations."


class ConfirmationTooSoon(Problem):
    """It is too soon to send another confirmation to the destination."""

    status, code = 429, "confirmation_too_soon"
    remedy = "Ask the recipient to check the spam folder, or send it again later."


class SerialAhead(Problem):
    """The serial is greater than the latest serial of the database."""

    status, code = 409, "serial_ahead"
