"""The registrars that have an adapter."""

from collections.abc import Mapping

from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.adapters.cloudflare import Cloudflare
from builders.portfolio.registrars.adapters.dynadot import Dynadot
from builders.portfolio.registrars.adapters.gandi import Gandi
from builders.portfolio.registrars.adapters.godaddy import GoDaddy
from builders.portfolio.registrars.adapters.namecheap import Namecheap
from builders.portfolio.registrars.adapters.namecom import NameCom
from builders.portfolio.registrars.adapters.namesilo import NameSilo
from builders.portfolio.registrars.adapters.ovh import Ovh
from builders.portfolio.registrars.adapters.porkbun import Porkbun
from builders.portfolio.registrars.adapters.route53 import Route53
from builders.portfolio.registrars.adapters.spaceship import Spaceship

ADAPTERS: Mapping[str, type[Adapter]] = {
    each.profile.provider: each
    for each in (
        Cloudflare,
        Dynadot,
        Gandi,
        GoDaddy,
        Namecheap,
        NameCom,
        NameSilo,
        Ovh,
        Porkbun,
        Route53,
        Spaceship,
    )
}
