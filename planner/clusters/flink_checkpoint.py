"""A checkpoint for a rescale of Flink, so that little is processed again and the rescale comes at once."""

from engines.flink.rest import FlinkRest, RequestRefusedError
from planner.clock import Clock

CHECKPOINT_S = 30.0
"""Longest wait for a checkpoint before a rescale. The job runs on meanwhile, and is rescaled all the same after it."""
POLL_S = 0.5
AT_NEXT_CHECKPOINT = 2
"""First major version that rescales a job with checkpoints when its next one completes (FLIP-461), not at once."""


class RescaleCheckpoint:
    """Of a job that takes checkpoints; there is none of another. Both methods return a note on why there is none, which
    is empty if all went well.
    """

    def __init__(self, rest: FlinkRest, jid: str, clock: Clock) -> None:
        self._rest, self._jid, self._clock = rest, jid, clock
        self._taken = rest.checkpoint_config(jid) is not None
        self._version = rest.major_version() if self._taken else None

    @property
    def comes_before(self) -> bool:
        """Whether the job is stopped at once, and goes on from the last checkpoint before."""
        return self._taken and (self._version is None or self._version < AT_NEXT_CHECKPOINT)

    def before(self) -> str:
        """Take a checkpoint, and wait until it is complete."""
        try:
            trigger = self._rest.trigger_checkpoint(self._jid)
            waited_s = 0.0
            while (request := self._rest.checkpoint_request(self._jid, trigger)).status.id != "COMPLETED":
                if waited_s >= CHECKPOINT_S:
                    return (
                        f"the checkpoint before it was not complete after {CHECKPOINT_S:g} s; see the job's checkpoints"
                    )
                self._clock.wait(POLL_S)
                waited_s += POLL_S
        except RequestRefusedError as refused:
            return f"there was no checkpoint just before it: {refused}"
        why = request.failed_because
        return f"the checkpoint before it failed: {why}" if why else ""

    def after(self) -> str:
        """Ask for the checkpoint that the requested rescale waits for."""
        if not self._taken or (self._version is not None and self._version < AT_NEXT_CHECKPOINT):
            return ""
        try:
            self._rest.trigger_checkpoint(self._jid)
        except RequestRefusedError as refused:
            # A version that is not told may have stopped the job already.
            return (
                ""
                if self._version is None
                else f"it waits for the job's next checkpoint, as Flink took none: {refused}"
            )
        return ""
