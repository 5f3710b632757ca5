from tests.demo.make import demo_images

__all__ = ["demo_images"]
