"""JSON schemas of the files that others write and read: topology, fleet, plan, profile, samples and site."""

from typing import Any

from pydantic import BaseModel

from forescale.files.fleet import FleetEntry
from forescale.files.plan import PlanEntry
from forescale.files.profile import ProfilesEntry
from forescale.files.samples import SamplesEntry
from forescale.files.site import SiteEntry
from forescale.files.topology import TopologyConfig

KINDS: dict[str, type[BaseModel]] = {
    "topology": TopologyConfig,
    "fleet": FleetEntry,
    "plan": PlanEntry,
    "profile": ProfilesEntry,
    "samples": SamplesEntry,
    "site": SiteEntry,
}


def file_schema(kind: str) -> dict[str, Any]:
    """The schema of a kind of file, one of KINDS (JSON Schema 2020-12)."""
    schema = KINDS[kind].model_json_schema(by_alias=True)
    for part in schema.get("$defs", {}).values():
        if "description" in part:
            # Doctests in a class's docstring are for readers of the code.
            part["description"] = part["description"].partition("\n\n>>>")[0]
    if profile := schema.get("$defs", {}).get("OperatorProfile"):
        # The operator's name is its key.
        del profile["properties"]["operator"]
        profile["required"].remove("operator")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"forescale {kind} file"}
