"""Storm's EvenScheduler (its default): workers over supervisors round robin, executors over workers round robin."""

from dataclasses import dataclass
from typing import ClassVar

from planner.packing.offer import Offer
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packing
from planner.packing.removal import placed_counts
from planner.packing.workload import Workload


@dataclass(frozen=True)
class EvenSpread:
    """Executors by operator name, then index, as Storm numbers tasks. Sizes are ignored: a worker without room is an
    error. If fewer workers are available than requested, it uses those, as Storm does.
    """

    offer: Offer
    name: ClassVar[str] = "even_spread"
    reassigns_all: ClassVar[bool] = True
    reserves_cores: ClassVar[bool] = False

    def pack(self, work: Workload) -> Packing:
        return self._spread(work, self.offer.containers or 1)

    def repack(self, running: Packing, work: Workload) -> Packing:
        """Schedules everything anew, as a rebalance does; over as many workers as run if the offer gives no number."""
        placed_counts(running, work)
        return self._spread(work, self.offer.containers or max(len(running), 1))

    def _spread(self, work: Workload, workers: int) -> Packing:
        filled = OpenContainers(self.offer, work)
        for _ in range(min(workers, len(work.instances), self.offer.most or workers)):
            filled.open()
        for turn, at in enumerate(at for name in sorted(work.parallelism) for at in work.positions(name)):
            filled.put(at, turn % len(filled))
        filled.check("the executors assigned to it", "give more workers (containers), or larger ones")
        return filled.packing()
