"""How the property tests run: the same examples every time, without limits on time.

`pytest --hypothesis-profile=explore` draws new examples instead.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("explore"), derandomize=True)
settings.load_profile("repeatable")
