"""JSON schemas of the files that others write and read: topology, plan, profile, samples and site."""

from typing import Any

from pydantic import BaseModel

from forescale.plan_file import PlanEntry
from forescale.profile_file import ProfilesEntry
from forescale.sample_file import SamplesEntry
from forescale.site_file import SiteEntry
from forescale.topology_file import TopologyConfig

KINDS: dict[str, type[BaseModel]] = {
    "topology": TopologyConfig,
    "plan": PlanEntry,
    "profile": ProfilesEntry,
    "samples": SamplesEntry,
    "site": SiteEntry,
}


def file_schema(kind: str) -> dict[str, Any]:
    """The schema of a kind of file, one of KINDS (JSON Schema 2020-12)."""
    schema = KINDS[kind].model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"forescale {kind} file"}
