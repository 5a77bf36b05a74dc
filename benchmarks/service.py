"""Short runs a second over HTTP, as a share of a bare starlette endpoint that streams the same frames from memory.

Both are served by uvicorn in a process of their own and asked by the same client, which shares the cores with them. A
run is of the default agent: it retrieves once and answers, and its states and trail are kept in memory.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from measure import ENVIRONMENT

AT_ONCE, RUNS, ROUNDS, GOAL = 16, 640, 5, 1 / 3

BODY = b'{"tenant_id":"acme","principal_id":"alice","goal":"what changed?","top_k":3}'
REQUEST = (
    b"POST /v1/agent HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-tenant-id: acme\r\n"
    b"x-principal-id: alice\r\ncontent-length: %d\r\n\r\n%s" % (len(BODY), BODY)
)
END = b"0\r\n\r\n"


class Pages:
    async def retrieve(self, ctx: Any, *, query: str, top_k: int, corpus_ids: Sequence[str] | None) -> list[Any]:
        from oloproof.runtime import ChunkRef

        return [ChunkRef(chunk_id=f"c{number}", text="A chunk's text is a slice.") for number in range(top_k)]


def service() -> Any:
    """The application of the service."""
    from oloproof.runtime import AgentLoop, HeuristicController, RetrieveTool, ToolRegistry
    from oloproof.service import Service
    from oloproof.service.asking import Desk
    from oloproof.service.rest import create_app

    loop = AgentLoop(controller=HeuristicController(), tools=ToolRegistry([RetrieveTool(Pages())]))
    return create_app(Desk.of(Service(loop=loop)))


def bare() -> Any:
    """An application that reads the body and streams the frames of one run, which it holds as bytes."""
    import httpx
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    async def recorded() -> bytes:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(service()), base_url="http://127.0.0.1") as client:
            headers = {"content-type": "application/json", "x-tenant-id": "acme", "x-principal-id": "alice"}
            return (await client.post("/v1/agent", content=BODY, headers=headers)).content

    frames = re.findall(rb"data: .*?\n\n", asyncio.run(recorded()), re.S)

    async def told() -> AsyncIterator[bytes]:
        for frame in frames:
            yield frame

    async def agent(request: Request) -> Response:
        await request.json()
        return StreamingResponse(told(), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/agent", agent, methods=["POST"])])


def serve(name: str) -> None:
    """Serve one of the two on a free port, which is printed."""
    import socket

    import uvicorn

    application = {"service": service, "bare": bare}[name]()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1024)
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(application, access_log=False, log_config=None, lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def served(name: str) -> Iterator[int]:
    command = [sys.executable, __file__, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def runs_a_second(port: int) -> float:
    """So many connections at once, each asking for one run after another."""

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(RUNS // AT_ONCE):
            writer.write(REQUEST)
            told = await reader.readuntil(END)
            assert b"data: [DONE]" in told
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    return RUNS / (time.perf_counter() - start)


def main() -> bool:
    """Print the figures; True where the goal is met."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # the servers inherit it
    with served("service") as ours, served("bare") as theirs:
        for port in (ours, theirs):
            asyncio.run(runs_a_second(port))  # what is only done once
        rates = [(asyncio.run(runs_a_second(ours)), asyncio.run(runs_a_second(theirs))) for _ in range(ROUNDS)]
    share = statistics.median(mine / other for mine, other in rates)
    mine, other = (statistics.median(each) for each in zip(*rates, strict=True))
    met = share >= GOAL
    what = f"short runs a second: {mine:.0f}, of a bare endpoint's {other:.0f}"
    print(f"{what:<68} {share:>9.2f} {'':<10} goal ≥ {GOAL:.2f}{'' if met else '   MISSED'}")
    return met


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(sys.argv[1])
    else:
        main()
