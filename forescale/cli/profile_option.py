"""The option --profile: a file of profiles, or a version of a calibration in MLflow."""

from pathlib import Path

from forescale.files.profile import read_profile_file
from forescale.situation.workspace import Workspace
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Topology


def given_profiles(workspace: Workspace, given: str, topology: Topology) -> dict[str, OperatorProfile]:
    """By operator. Raises FileError for a file that cannot be used."""
    if not given.startswith("models:/"):
        return read_profile_file(Path(given), topology)
    from forescale.tracking.calibration_versions import profiles_of_version

    return profiles_of_version(given, workspace.settings, topology)
