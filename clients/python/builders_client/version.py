"""The version of the client."""

VERSION = "1.1.0.dev0"
