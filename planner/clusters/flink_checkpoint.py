"""A checkpoint for a rescale of Flink, so that little is processed again and the rescale comes at once."""

from datetime import datetime, timedelta

from engines.deadline import waiting
from engines.flink.answers import Job
from engines.flink.rest import FlinkRest, RequestRefusedError
from planner.clock import Clock
from planner.errors import ClusterError

CHECKPOINT_S = 30.0
"""Longest wait for a checkpoint before a rescale. The job runs on meanwhile, and is rescaled all the same after it."""
POLL_S = 0.5
AT_NEXT_CHECKPOINT = 2
"""First major version that rescales a job with checkpoints when its next one completes (FLIP-461), not at once."""
COOLDOWN_LATE_S = 1.0
AGAIN_S = 5.0
"""Until another one is asked for, if a requested rescale has not begun; then twice as long each time."""


class RescaleCheckpoint:
    """Of a job that takes checkpoints; there is none of another. Both methods return a note on why there is none, which
    is empty if all went well. They raise nothing: no rescale fails for want of a checkpoint.
    """

    def __init__(self, rest: FlinkRest, jid: str, clock: Clock) -> None:
        self._rest, self._jid, self._clock = rest, jid, clock
        self._taken = rest.checkpoint_config(jid) is not None
        self._version = rest.major_version() if self._taken else None

    @property
    def comes_before(self) -> bool:
        """Whether the job is stopped at once, and goes on from the last checkpoint before."""
        return self._taken and (self._version is None or self._version < AT_NEXT_CHECKPOINT)

    def before(self, latest: datetime | None = None) -> str:
        """Take a checkpoint, and wait until it is complete, no longer than CHECKPOINT_S or until `latest`."""
        began = self._clock.now()
        ends = began + timedelta(seconds=CHECKPOINT_S)
        if latest is not None and latest < ends:
            ends = latest
        try:
            trigger = self._rest.trigger_checkpoint(self._jid)
            with waiting("a checkpoint of the job", (ends - began).total_seconds()):
                while (request := self._rest.checkpoint_request(self._jid, trigger)).status.id != "COMPLETED":
                    if (now := self._clock.now()) >= ends:
                        waited_s = (now - began).total_seconds()
                        return f"the checkpoint before it was not complete after {waited_s:.3g} s; see the job's own"
                    self._clock.wait(POLL_S)
        except (RequestRefusedError, ClusterError) as error:
            return f"there was no checkpoint just before it: {error}"
        why = request.failed_because
        return f"the checkpoint before it failed: {why}" if why else ""

    def after(self, job: Job) -> str:
        """Ask for the checkpoint that the requested rescale waits for, once Flink's cooldown has passed: one within it
        has no effect. job: as it was at the request.
        """
        if not self._taken or (self._version is not None and self._version < AT_NEXT_CHECKPOINT):
            return ""
        try:
            left_s = self._rest.cooldown_s(self._jid) - (job.now - job.timestamps.get("RUNNING", 0)) / 1000
            if left_s > CHECKPOINT_S:
                return f"it waits for the job's next checkpoint, as Flink's cooldown still takes {left_s:.0f} s"
            if left_s > 0:
                with waiting("Flink's cooldown after a rescale", left_s):
                    self._clock.wait(left_s + COOLDOWN_LATE_S)
            self._rest.trigger_checkpoint(self._jid)
        except (RequestRefusedError, ClusterError) as error:
            if self._version is None:  # it may have stopped the job already
                return ""
            return f"it waits for the job's next checkpoint, as Flink took none: {error}"
        return ""
