"""Requests and replies of connecting a machine."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from builders.identity.devices.records import OpenedRequest
from builders.identity.fields import MandateInput
from builders.identity.records import NewApiKey, Preset
from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body, WriteReply
from builders.kit.http.members import written_of
from builders.kit.mandates import Amounts
from builders.kit.values.docs import doc

LIVE = "live"  # the word of `scope` that asks for a live key
AGENT = "agent"  # ... for keys with a mandate
DeviceRequestReply = written_of(OpenedRequest, "DeviceRequestReply")


class DeviceAuthorizationCreate(Body):
    """A machine that asks for keys (RFC 8628, 3.1), as JSON or as a form. `client_id` is not needed."""

    host: Annotated[
        str,
        Field(
            max_length=255,
            description="Name of the machine, which the person sees and the keys are labelled with.",
        ),
    ] = ""
    scope: Annotated[
        str,
        Field(
            max_length=120,
            description="What to offer to the person, separated by spaces: presets of test keys, `live` for a "
            "live key, and `agent` for keys with a mandate. The person decides.",
        ),
    ] = Preset.DEVELOPER_FULL.value

    def presets(self) -> Sequence[Preset]:
        """Return the presets of test keys. Raise Invalid for an unknown word."""
        words = [word for word in self.scope.split() if word not in {LIVE, AGENT}]
        try:
            return list(map(Preset, words))
        except ValueError:
            known = ", ".join((*Preset, LIVE, AGENT))
            raise Invalid(("body", "scope"), f"The words of `scope` are {known}.", "scope") from None

    def asks_live(self) -> bool:
        """Return whether a live key is asked for."""
        return LIVE in self.scope.split()

    def asks_agent(self) -> bool:
        """Return whether the keys are for an agent."""
        return AGENT in self.scope.split()


class DeviceAuthorizationReply(WriteReply):
    """The codes of a machine (RFC 8628, 3.2)."""

    device_code: Annotated[str, doc("The secret that the machine polls with.")]
    user_code: Annotated[str, doc("The code that the person types, such as `7KQX-M2PD`.")]
    verification_uri: Annotated[str, doc("The page on which the person types it.")]
    expires_in: Annotated[int, doc("Seconds until the codes expire.")]
    interval: Annotated[int, doc("Seconds to wait between two polls.")]


class DeviceTokenRequest(Body):
    """A poll (RFC 8628, 3.4), as JSON or as a form."""

    device_code: Annotated[
        str, Field(min_length=1, max_length=200, description="The `device_code` of the machine.")
    ]
    grant_type: Annotated[
        Literal["urn:ietf:params:oauth:grant-type:device_code"] | None, doc("The grant of RFC 8628; optional.")
    ] = None


class DeviceKeysReply(WriteReply):
    """The keys of the machine, in place of an access token. Store their secrets at once."""

    keys: Annotated[list[NewApiKey], doc("A test key for each preset that the person chose, and any live key.")]


class DeviceCodeRequest(Body):
    """The code that a person types."""

    user_code: Annotated[
        str, Field(max_length=40, description="The code that the terminal shows, such as 7KQX-M2PD.")
    ]


class DeviceDecisionCreate(Body, extra="forbid"):
    """What the person decides."""

    decision: Annotated[Literal["approve", "deny"], doc("Whether the machine gets keys.")]
    test_presets: Annotated[
        list[Preset], Field(default_factory=list, max_length=len(Preset), description="A test key for each.")
    ]
    live_preset: Annotated[Preset | None, doc("The preset of a live key; null: none.")] = None
    mandate: Annotated[
        MandateInput,
        doc("What each of the keys may do and spend; required for an agent. Null: what its scopes allow."),
    ] = None


class MachinesUpdate(Body, extra="forbid"):
    """What all machines with a mandate may cost together."""

    max_total_per_30_days: Annotated[
        Amounts | None, doc("An amount of each currency; one without an amount is zero. Null: no limit.")
    ]
