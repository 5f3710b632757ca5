"""Templates of tables: the formats with a sample, of charges and of all other kinds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from builders.kit.sheets.kinds import GENERIC, Format, TableKind, list_kinds
from builders.portfolio.billing.columns import CHARGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A format that can be filled in."""

    kind: TableKind[Any]
    form: Format

    @property
    def id(self) -> str:
        """Return the name of the format, for another kind than charges with the name of the kind."""
        return self.form.id if self.kind is CHARGES else f"{self.kind.name}-{self.form.id}"

    @property
    def provider(self) -> str | None:
        """Return the registrar; None for any."""
        return self.form.defaults.get("provider")


def list_templates(provider: str | None) -> Sequence[Template]:
    """Return the templates, or those of a provider and the generic one where it has none."""
    found = [
        Template(kind=kind, form=each) for kind in list_kinds() for each in kind.formats.values() if each.sample
    ]
    if provider is None:
        return found
    own = [each for each in found if each.provider == provider.lower()]
    return own or [Template(kind=CHARGES, form=CHARGES.formats[GENERIC])]
