"""redis-py's Sentinel client: it goes on by itself when the primary dies, and when another one is chosen."""

import pathlib
import sys

import redis
from redis.sentinel import Sentinel

import scenario

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import sentinels  # noqa: E402  (it is shared with other languages, in the folder above)


def goes_on(client, key):
    """Whether a write succeeds, by a client that finds the primary itself."""
    try:
        return client.set(key, "1") and client.get(key) == b"1"
    except (redis.ConnectionError, redis.TimeoutError, redis.exceptions.ReadOnlyError):
        return False


def clients_follow_the_primary():
    group = sentinels.Group()
    try:
        client = Sentinel([("127.0.0.1", port) for port in group.sentinels], socket_timeout=1)
        primary = client.master_for(sentinels.NAME, socket_timeout=1)
        replica = client.slave_for(sentinels.NAME, socket_timeout=1)
        for i in range(100):
            primary.set(f"key:{i}", i)
        assert primary.wait(2, 5000) == 2
        assert replica.get("key:99") == b"99"
        first = client.discover_master(sentinels.NAME)[1]
        group.kill(first)
        assert scenario.wait_for(lambda: goes_on(primary, "after"), 40), "writes go on"
        second = client.discover_master(sentinels.NAME)[1]
        assert second != first
        assert [primary.get(f"key:{i}") for i in range(100)] == [b"%d" % i for i in range(100)]
        assert scenario.wait_for(lambda: replica_reads(replica), 40), "reads go on"
        # A change that was asked for.
        assert scenario.wait_for(lambda: fails_over(client.sentinels[0]), 40), "a failover begins"
        assert scenario.wait_for(lambda: client.discover_master(sentinels.NAME)[1] != second, 40), "another leads"
        assert scenario.wait_for(lambda: goes_on(primary, "again"), 40), "writes go on again"
        assert primary.get("after") == b"1"
    finally:
        group.end()


def fails_over(sentinel):
    try:
        return sentinel.sentinel_failover(sentinels.NAME)
    except redis.ResponseError:
        # Nobody may be ready to lead for some seconds after the last one.
        return False


def replica_reads(replica):
    try:
        return replica.get("after") == b"1"
    except redis.ConnectionError:
        return False


scenario.run("redis-py under Sentinels", [clients_follow_the_primary])
