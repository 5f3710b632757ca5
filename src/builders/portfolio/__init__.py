"""The portfolio of a domainer: subpackages in layers of their own."""
