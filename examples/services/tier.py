"""One replica of a small HTTP service: it waits (its own work), calls the next tier, and answers.

A request holds one of --threads from the start of its own work to its answer, the call to the next tier included;
further requests wait for a thread. Own times are uniform between 0.5 and 1.5 times --own-ms. Prometheus scrapes GET
/metrics: a summary of the seconds for which threads were held.

    python examples/services/tier.py --service gate --port 8101 --threads 8 --own-ms 180 --call http://127.0.0.1:8102
"""

import argparse
import asyncio
import random
import time
from collections import Counter

import httpx

LOOPBACK = "127.0.0.1"


class Tier:
    def __init__(self, service: str, threads: int, own_s: float, callees: list[str]) -> None:
        self._service, self._own_s, self._callees = service, own_s, callees
        self._threads = asyncio.Semaphore(threads)
        self._answered, self._held_s = 0, 0.0
        self._under_way: Counter[str] = Counter()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._client = httpx.AsyncClient(timeout=60.0, limits=limits, trust_env=False)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection one after the other."""
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                if line.startswith(b"GET /metrics"):
                    body = self._metrics()
                else:
                    await self._answer()
                    body = "done\n"
                kind = "text/plain; version=0.0.4"
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write((head + body).encode())
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _answer(self) -> None:
        async with self._threads:
            began_s = time.perf_counter()
            await asyncio.sleep(self._own_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            if self._callees:
                # The replica with the fewest unanswered calls from this one.
                callee = min(self._callees, key=lambda url: self._under_way[url])
                self._under_way[callee] += 1
                try:
                    (await self._client.get(callee)).raise_for_status()
                finally:
                    self._under_way[callee] -= 1
            self._answered += 1
            self._held_s += time.perf_counter() - began_s

    def _metrics(self) -> str:
        labels = f'{{service="{self._service}"}}'
        return (
            "# TYPE http_request_duration_seconds summary\n"
            f"http_request_duration_seconds_count{labels} {self._answered}\n"
            f"http_request_duration_seconds_sum{labels} {self._held_s:.6f}\n"
        )


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--service", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--own-ms", type=float, required=True)
    parser.add_argument("--call", action="append", default=[], help="URL of each replica of the next tier.")
    given = parser.parse_args()
    tier = Tier(given.service, given.threads, given.own_ms / 1000, given.call)
    server = await asyncio.start_server(tier.serve, LOOPBACK, given.port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
