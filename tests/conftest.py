"""Settings that all tests share."""

from hypothesis import settings

# A deadline is a test on the wall clock: it fails on a busy machine and says nothing about the code.
settings.register_profile("regraft", deadline=None)
settings.load_profile("regraft")
