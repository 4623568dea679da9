"""Load for the first tier: a rate of requests (--per-s), or clients that each send the next on an answer (--clients).

    python examples/services/load.py http://127.0.0.1:8101 --seconds 30 --per-s 5
    python examples/services/load.py http://127.0.0.1:8101 --seconds 30 --clients 40    # as many as it answers

Prints the answers a second, without those of the first --warm seconds.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Sequence

import httpx


async def answers_per_s(
    urls: Sequence[str], seconds: float, *, per_s: float = 0.0, clients: int = 0, warm_s: float = 0.0
) -> float:
    """Raises httpx.HTTPError where a request fails."""
    done_s: list[float] = []
    begin_s = time.perf_counter()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(timeout=60.0, limits=limits, trust_env=False) as client, asyncio.TaskGroup() as tasks:

        async def ask(number: int) -> None:
            (await client.get(urls[number % len(urls)])).raise_for_status()
            done_s.append(time.perf_counter() - begin_s)

        async def ask_again(number: int) -> None:
            while time.perf_counter() - begin_s < seconds:
                await ask(number)

        for number in range(clients):
            tasks.create_task(ask_again(number))
        number, due_s = 0, 0.0
        while per_s and (due_s := due_s + random.expovariate(per_s)) < seconds:
            await asyncio.sleep(max(0.0, begin_s + due_s - time.perf_counter()))
            tasks.create_task(ask(number))
            number += 1
    counted = [each for each in done_s if warm_s <= each < seconds]
    return len(counted) / (seconds - warm_s)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="+", help="Of each replica of the first tier.")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--per-s", type=float, default=0.0)
    parser.add_argument("--clients", type=int, default=0)
    parser.add_argument("--warm", type=float, default=0.0)
    given = parser.parse_args()
    found = answers_per_s(given.url, given.seconds, per_s=given.per_s, clients=given.clients, warm_s=given.warm)
    print(f"{asyncio.run(found):.1f}")
