"""Fakes of the APIs of registrars, one per module, written from the registrars' documents alone."""
