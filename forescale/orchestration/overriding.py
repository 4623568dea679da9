"""Who may override limits in Airflow: a task learns the user who started its run or answered, not the user's role."""

from forescale.files.shown import shown
from forescale.settings import Settings
from planner.errors import PlanError


def check_may_override(settings: Settings, user: str) -> None:
    """Raises PlanError for a user not in FORESCALE_OVERRIDE_USERS."""
    if user not in {name.strip() for name in settings.override_users.split(",") if name.strip()}:
        raise PlanError(
            f"user {shown(user)} may not override limits; ask an administrator to do it (FORESCALE_OVERRIDE_USERS "
            "names those who may), or give another plan or time"
        )
