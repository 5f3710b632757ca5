"""`python -m builders_client.cli` is `bld`."""

from builders_client.cli import main

main()
