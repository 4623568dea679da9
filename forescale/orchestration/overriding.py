"""Who may pass limits in Airflow: it tells a task who started its run or answered, not with which role."""

from forescale.files.shown import shown
from forescale.settings import Settings
from planner.errors import PlanError


def check_may_override(settings: Settings, user: str) -> None:
    """Raises PlanError for somebody whom FORESCALE_OVERRIDE_USERS does not name."""
    if user not in {name.strip() for name in settings.override_users.split(",") if name.strip()}:
        raise PlanError(
            f"user {shown(user)} may not override limits; ask an administrator to do it (FORESCALE_OVERRIDE_USERS "
            "names those who may), or give another plan or time"
        )
