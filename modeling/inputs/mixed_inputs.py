"""Operators whose outputs depend on a mix of inputs that nobody has seen change.

One ratio of output to input holds for one mix. Where the inputs come from different sources the mix changes with their
loads, and so does the ratio unless it is known for each input.
"""

from collections.abc import Mapping

from modeling.inputs.operator_profile import Profiles
from modeling.inputs.topology import Topology


def mixed_operators(topology: Topology) -> Mapping[str, tuple[str, ...]]:
    """By operator with several inputs from more than one source: its inputs."""
    found = {}
    for name in topology.order:
        inputs = topology.inputs(name)
        sources = [source for source in topology.sources if name in topology.reached[source]]
        if len(inputs) > 1 and len(sources) > 1:
            found[name] = tuple(stream.name for stream in inputs)
    return found


def unseparated_outputs(topology: Topology, profiles: Profiles) -> Mapping[str, tuple[str, ...]]:
    """By mixed operator: its outputs of which the ratio for each input is unknown. A window's output follows its keys,
    not its input.
    """
    found = {}
    for name in mixed_operators(topology):
        profile = profiles[name]
        streams = [stream.name for stream in topology.outputs(name)]
        unknown = [each for each in streams if each not in profile.input_selectivity and each not in profile.windowed]
        if unknown:
            found[name] = tuple(unknown)
    return found
