"""The version of the client."""

VERSION = "1.0.0"
