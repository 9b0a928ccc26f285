"""What all tests share: properties are not timed, as other work may share the machine."""

from hypothesis import HealthCheck, settings

# A test that sets its own `suppress_health_check` names `too_slow` there, too.
settings.register_profile("edgeorder", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("edgeorder")
