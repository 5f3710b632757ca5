"""/.well-known/jwks.json."""

from builders.identity import service as identity
from builders.identity.schemas import sessions as schemas
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import UNLIMITED

router = Router(tags=["auth"])
MAX_AGE_S = 300


@router.get(
    "/.well-known/jwks.json",
    response_model=schemas.JwksReply,
    openapi_extra=BEYOND_SPEC,
    dependencies=[UNLIMITED],
)
async def list_public_keys(keyring: KeyringDep) -> ReplyWithHeaders:
    """List the public keys that verify our tokens."""
    keys = [schemas.published(each) for each in identity.list_public_keys(keyring)]
    return ReplyWithHeaders(schemas.JwksReply(keys=keys), {"Cache-Control": f"public, max-age={MAX_AGE_S}"})
