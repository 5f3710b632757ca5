import jwt

from builders.app import Service
from tests.cast import Client, Person

PATH = "/.well-known/jwks.json"


async def test_anybody_reads_the_public_keys(anyone: Client) -> None:
    answer = await anyone.get(PATH)

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert answer.headers["Content-Type"] == "application/json"
    assert [sorted(key) for key in answer.json()["keys"]] == [["alg", "crv", "kid", "kty", "use", "x"]]


async def test_the_published_keys_verify_our_tokens(anyone: Client, alice: Person) -> None:
    token = (await alice.sign_in()).token
    published = jwt.PyJWKSet.from_dict((await anyone.get(PATH)).json())

    kid = jwt.get_unverified_header(token)["kid"]
    claims = jwt.decode(token, published[kid], algorithms=["EdDSA"], audience="http://builders.test")

    assert claims["sub"] == str(alice.account.id)


async def test_no_private_half_is_published(anyone: Client, service: Service) -> None:
    said = (await anyone.get(PATH)).text

    for key in service.api.state.keyring.signing_keys("access token").values():
        assert key.private_bytes_raw().hex() not in said
    assert '"d"' not in said
