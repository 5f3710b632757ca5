# Written by script/clients.
"""Operations: probes."""

from typing import Literal

from builders_client.generated.models.probes import LivenessReply, ReadinessReply
from builders_client.generated.sync.sender import Sender


class Probes:
    """Liveness and readiness."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def health(
        self,
    ) -> LivenessReply:
        """Alias of /livez.

        Requires no credentials.
        """
        return self._client.send("probes_health", LivenessReply)

    def livez(
        self,
    ) -> LivenessReply:
        """Process liveness only; does not check dependencies.

        Requires no credentials.
        """
        return self._client.send("probes_livez", LivenessReply)

    def readyz(
        self,
        *,
        writes: Literal["required"] | None = None,
    ) -> ReadinessReply:
        """Bounded readiness: core database required; cache store checked when configured.

        Requires no credentials.

        Args:
            writes: With `required`, a service that can only be read is not ready. Default: it is.
        """
        return self._client.send("probes_readyz", ReadinessReply, query={"writes": writes})
