"""redis-py in cluster mode: it writes while a primary is killed and while slots move, and nothing is lost that a replica had."""

import json
import pathlib
import subprocess
import sys
import threading

import redis
from redis.cluster import ClusterNode, RedisCluster

import scenario

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "clusters.py"
# What a client sees of a primary that is gone, and of slots that move.
PASSING = (redis.RedisError, OSError)


def write(client, key, value):
    """Whether a write was acknowledged, and a replica had it then: both are asked of one connection."""
    try:
        node = client.get_node_from_key(key)
        pipe = client.get_redis_connection(node).pipeline(transaction=False)
        return pipe.set(key, value).execute_command("WAIT", 1, 1000).execute() == [True, 1]
    except PASSING:
        pass
    try:
        # It follows redirections, and learns of them.
        client.set(key, value)
    except PASSING:
        client.nodes_manager.initialize()
    return False


def nothing_is_lost():
    with subprocess.Popen([sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        ports = json.loads(process.stdout.readline())["ports"]
        client = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", port) for port in ports], socket_timeout=2)
        said = []
        reader = threading.Thread(target=lambda: said.extend(process.stdout.readline().strip() for _ in range(2)))
        reader.start()
        kept, count = [], 0
        while reader.is_alive():
            count += 1
            try:
                if write(client, f"key:{count}", count):
                    kept.append(count)
            except PASSING:
                # Nobody could be asked who has the slots.
                pass
        assert said == ["killed", "resharded"], said
        assert len(kept) > 100, f"{len(kept)} of {count} were acknowledged"
        lost = [number for number in kept if client.get(f"key:{number}") != b"%d" % number]
        assert not lost, f"{len(lost)} of {len(kept)} are lost: {lost[:10]}"
        assert all(client.set(f"after:{number}", 1) for number in range(200)), "writes go on"
        process.stdin.close()


scenario.run("redis-py on a cluster", [nothing_is_lost])
