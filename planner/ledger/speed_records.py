"""The ledger's records of how fast jobs were while they caught up after a deployment."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from planner.learned_warm_up import SpeedSample
from planner.ledger.database import Records
from planner.ledger.stored_rows import entries_of
from planner.ledger.tables import DeploymentSpeedTable


class SpeedRecords(Records):
    """How fast jobs were while they caught up after a deployment."""

    def record(self, step_id: str, samples: Sequence[SpeedSample]) -> None:
        """The samples of a step's deployment, in place of any earlier ones."""
        with self._database.session() as session:
            session.execute(delete(DeploymentSpeedTable).where(DeploymentSpeedTable.step_id == step_id))
            for each in samples:
                row = DeploymentSpeedTable(
                    step_id=step_id,
                    from_s=each.from_s,
                    until_s=each.until_s,
                    taken_per_s=each.taken_per_s,
                    capacity_per_s=each.capacity_per_s,
                )
                session.add(row)

    def of_steps(self, step_ids: Sequence[str]) -> list[list[SpeedSample]]:
        """Samples in order of time, of each of the steps that has some."""
        wanted = select(DeploymentSpeedTable).where(DeploymentSpeedTable.step_id.in_(step_ids))
        with self._database.session() as session:
            ordered = wanted.order_by(DeploymentSpeedTable.step_id, DeploymentSpeedTable.from_s)
            known = entries_of(self._database, session, ordered, lambda row: (row.step_id, _sample(row)))
        by_step: dict[str, list[SpeedSample]] = {}
        for step_id, sample in known:
            by_step.setdefault(step_id, []).append(sample)
        return list(by_step.values())


def _sample(row: DeploymentSpeedTable) -> SpeedSample:
    return SpeedSample(row.from_s, row.until_s, row.taken_per_s, row.capacity_per_s)
