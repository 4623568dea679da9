"""The answer to a review that Airflow stored and then lost, read again by a later try of the same task.

Airflow 3.3 takes a task that is answered while its worker still ends for one that was killed, and starts another try.
The answer stays stored with the question until that try asks, which would delete it. Only triggers may read it.
"""

import asyncio
from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

SETTLE_S = 2.0
"""Pause before the look, so that the worker that has just deferred is gone when the trigger fires."""
LOOKS = 3
APART_S = 5.0
"""Between looks at a question that is not found: the try before may still be being put away."""


class Question(StrEnum):
    """What became of the question of the try before. GONE: Airflow has none, so an answer to it is lost."""

    ANSWERED = "answered"
    WAITING = "waiting"
    GONE = "gone"


class StoredAnswer(BaseTrigger):
    """Fires once, with `question`, a Question, and the event of a person's answer as HITLOperator gets it if it is
    ANSWERED.

    ti_id: of the task instance that asks; it changes with each try, and the question goes with it.
    """

    def __init__(self, ti_id: str) -> None:
        super().__init__()
        self.ti_id = ti_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return f"{type(self).__module__}.{type(self).__qualname__}", {"ti_id": self.ti_id}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(SETTLE_S)
        event = await asyncio.to_thread(self.event)
        for _ in range(LOOKS - 1):
            if event["question"] != Question.GONE:
                break
            await asyncio.sleep(APART_S)
            event = await asyncio.to_thread(self.event)
        yield TriggerEvent(event)

    def event(self) -> dict[str, Any]:
        from uuid import UUID

        from airflow.sdk.exceptions import AirflowRuntimeError
        from airflow.sdk.execution_time.hitl import get_hitl_detail_content_detail

        try:
            stored = get_hitl_detail_content_detail(UUID(self.ti_id))
        except AirflowRuntimeError:
            return {"question": Question.GONE.value}
        user = stored.responded_by_user
        if not stored.response_received or user is None:
            return {"question": Question.WAITING.value}
        return {
            "question": Question.ANSWERED.value,
            "chosen_options": list(stored.chosen_options or []),
            "params_input": stored.params_input or {},
            "responded_at": stored.responded_at,
            "responded_by_user": {"id": user.id, "name": user.name},
        }


def is_repeated(attempt: Any, retries: int) -> bool:
    """Whether Airflow itself started this try after another one; not if a person cleared the task to be asked again.

    attempt: the task instance of the context. Clearing sets max_tries to the last try plus the task's retries.
    """
    return bool(attempt.try_number > attempt.max_tries - retries + 1)
