"""Records of the demo."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoKey:
    """A key of a demo account."""

    account: str  # its email address
    preset: str
    kind: str
    key: str = field(repr=False)
