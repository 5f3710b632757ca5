"""Settings: every knob of the service, read once from the environment and then frozen."""

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict


class Settings(BaseSettings):
    """Environment variables `BUILDERS_*`; docs/reference/settings.md is generated from this class."""

    model_config = SettingsConfigDict(env_prefix="BUILDERS_", frozen=True, extra="ignore", env_ignore_empty=True)

    data_dir: Path = Field(
        Path(".data"),
        description="Folder of the embedded PostgreSQL, the secret keys and the catalog images.",
    )
    database_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("BUILDERS_DATABASE_URL", "DATABASE_URL", "database_url"),
        description="A PostgreSQL server (15 or newer) to use. Unset: the embedded one in the data folder. "
        "`DATABASE_URL` is read too.",
    )
    redis_url: SecretStr | None = Field(
        None, description="Cache store (Redis). Nothing depends on it; /readyz says how it is."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    base_url: str | None = Field(
        None, description="Public address of the service, as it is announced. Unset: `http://HOST:PORT`."
    )
    secret_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        (),
        description="Comma-separated secrets of 32 random bytes (43 characters of base64url). The first signs "
        "and seals, all verify and open. Unset: generated into the data folder.",
    )
    key_cache_s: float = Field(
        5.0,
        ge=0,
        le=60,
        description="Seconds that a verified API key is remembered; a revocation is felt within it.",
    )
    body_limit: int = Field(2 * 1024 * 1024, ge=1024, description="Largest request body in bytes; beyond it 413.")
    pool_size: int = Field(10, ge=1, le=200, description="Database connections of each HTTP process.")
    pool_timeout_s: float = Field(
        3.0, gt=0, le=30, description="Seconds a request waits for a database connection before 503."
    )
    statement_timeout_s: float = Field(10.0, gt=0, le=600, description="Longest run of one SQL statement.")
    lock_timeout_s: float = Field(3.0, gt=0, le=600, description="Longest wait for a row or table lock.")
    worker_concurrency: int = Field(4, ge=1, le=100, description="Jobs that one worker runs at once.")
    quarantine_days: int = Field(90, ge=0, le=3650, description="Days a released name is kept from strangers.")
    log_level: str = Field("info", description="`debug`, `info`, `warning` or `error`.")

    @field_validator("secret_keys", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            tuple(filter(None, (part.strip() for part in value.split(",")))) if isinstance(value, str) else value
        )

    @property
    def url(self) -> str:
        """Public base address, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host  # RFC 3986, 3.2.2
        return (self.base_url or f"http://{host}:{self.port}").rstrip("/")
