"""What the demo gives to its first visitor."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoKey:
    """A key that anyone who runs the demo may use."""

    account: str  # its email address
    preset: str
    kind: str
    key: str = field(repr=False)
