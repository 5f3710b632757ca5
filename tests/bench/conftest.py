from tests.demo.drawn import drawn

__all__ = ["drawn"]
