"""The portfolio of a domainer, in layered subpackages."""
