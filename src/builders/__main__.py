"""`python -m builders`: the operator's command line, as the installed command `builders`."""

from builders.cli.main import main

if __name__ == "__main__":
    main(prog_name="builders")
