"""The version of this service, and the revision of the specification that it implements."""

VERSION = "1.0.0.dev0"
REVISION = "0.2.54"
