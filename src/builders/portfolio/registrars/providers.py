"""The registrars that have an adapter."""

from collections.abc import Mapping

from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.adapters.cloudflare import Cloudflare
from builders.portfolio.registrars.adapters.godaddy import GoDaddy
from builders.portfolio.registrars.adapters.namecom import NameCom
from builders.portfolio.registrars.adapters.porkbun import Porkbun

ADAPTERS: Mapping[str, type[Adapter]] = {
    each.profile.provider: each for each in (Cloudflare, GoDaddy, NameCom, Porkbun)
}
