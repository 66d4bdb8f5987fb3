"""How long reads take in process, beside redis-py over a unix socket, in one run.

    make python-bench            (a release wheel, in the environment target/venv)
    python python/bench/latency.py PATH_OF_LARDER_SERVER [--keys 1000 100000] [--calls 200000]

Starts the server, fills it with keys of both kinds, and reads keys at random; each call is timed by itself. Prints the median and the 99th
percentile in microseconds. What reading the clock twice takes is printed too, and not taken off. The first number of keys fits into the
processor's cache, the second does not.
"""

import argparse
import os
import random
import sys
import time
from pathlib import Path

import redis

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from server import Server  # noqa: E402

import larder  # noqa: E402

FIELDS = 20
#: Calls of redis-py are fewer: each takes as long as many of the others.
SOCKET_CALLS_SHARE = 10


def timed(what, call, names, calls):
    """Times a call with names at random; returns the median in nanoseconds."""
    rng = random.Random(1)
    order = [names[rng.randrange(len(names))] for _ in range(calls)]
    clock = time.perf_counter_ns
    for name in order[: calls // 10]:
        call(name)
    times = []
    for name in order:
        begun = clock()
        call(name)
        times.append(clock() - begun)
    times.sort()
    middle, late = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"{what:44} p50 {middle / 1000:8.2f} us   p99 {late / 1000:8.2f} us", flush=True)
    return middle


def fill(direct, keys):
    direct.flushall()
    for first in range(0, keys, 1000):
        pipe = direct.pipeline(transaction=False)
        for key in range(first, min(first + 1000, keys)):
            pipe.set(f"s:{key}", f"value-{key}")
            pipe.hset(f"h:{key}", mapping={f"field:{field}": f"value-{key}-{field}" for field in range(FIELDS)})
        pipe.execute()


def measure(server, keys, calls):
    print(f"{keys} keys")
    with redis.Redis(unix_socket_path=server.socket) as direct:
        fill(direct, keys)
        with larder.Replica(server.url, wait=60) as replica:
            replica.set("last", 1)
            for what, kind in [("get", "s"), ("hgetall", "h")]:
                names = [f"{kind}:{key}" for key in range(keys)]
                label = "GET" if what == "get" else f"HGETALL of {FIELDS} fields"
                inside = timed(f"  larder.Replica, {label}", getattr(replica, what), names, calls)
                outside = timed(
                    f"  redis-py, unix socket, {label}", getattr(direct, what), names, calls // SOCKET_CALLS_SHARE
                )
                assert getattr(replica, what)(names[0]) == getattr(direct, what)(names[0])
                print(f"  {label}: redis-py takes {outside / inside:.0f} times as long")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", nargs="?", default=os.environ.get("LARDER_SERVER"), help="path of larder-server")
    parser.add_argument("--keys", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--calls", type=int, default=200_000)
    given = parser.parse_args()
    if not given.server:
        parser.error("give the path of larder-server, or set LARDER_SERVER")
    os.environ["LARDER_SERVER"] = given.server
    server = Server()
    try:
        timed("the clock", lambda _: None, [""], given.calls)
        for keys in given.keys:
            measure(server, keys, given.calls)
    finally:
        server.close()


if __name__ == "__main__":
    main()
