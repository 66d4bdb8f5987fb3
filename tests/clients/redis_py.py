"""The idioms of redis-py against a running server: usage: redis_py.py PATH_OF_LARDER_SERVER

Starts the server on a free port with 1, 2 and 4 threads and both protocols, and ends it by its own handle.
"""

import socket
import subprocess
import sys
import tempfile
import threading
import time

import redis


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, path, threads):
        self.dir = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.tls_port = free_port()
        args = [path, "--port", str(self.port), "--threads", str(threads), "--save", "", "--dir", self.dir.name]
        args += ["--tls-port", str(self.tls_port), "--tls-auth-clients", "optional", *self.certificates()]
        self.process = subprocess.Popen(args, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while True:
            try:
                redis.Redis(port=self.port).ping()
                return
            except redis.ConnectionError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.01)

    def certificates(self):
        """An authority that is the server's certificate as well, and a client's."""
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        names = ["-addext", "subjectAltName=DNS:localhost"]
        make = ["openssl", "req", "-x509", *key, *names, "-days", "9", "-subj", "/CN=server"]
        subprocess.run([*make, "-keyout", "key", "-out", "crt"], cwd=self.dir.name, check=True, stderr=subprocess.DEVNULL)
        self.ca, self.key = f"{self.dir.name}/crt", f"{self.dir.name}/key"
        return ["--tls-cert-file", self.ca, "--tls-key-file", self.key, "--tls-ca-cert-file", self.ca]

    def over_tls(self, protocol, **options):
        # A request that is never answered is a failure, not a run without end.
        options = {"socket_timeout": 60, **options}
        return redis.Redis("localhost", self.tls_port, ssl=True, ssl_ca_certs=self.ca, protocol=protocol, **options)

    def close(self):
        self.process.terminate()
        assert self.process.wait(20) == 0
        self.dir.cleanup()


def strings(r):
    assert r.set("k", "v", ex=100)
    assert r.get("k") == b"v" and 95 <= r.ttl("k") <= 100
    assert r.set("k", "w", nx=True) is None
    assert r.set("k", "w", get=True) == b"v"
    assert r.incr("n", 5) == 5 and r.incrbyfloat("n", 0.1) == 5.1
    assert r.mset({"a": 1, "b": 2}) and r.mget("a", "b", "none") == [b"1", b"2", None]
    assert r.getex("k", px=5000) == b"w" and r.getdel("k") == b"w" and not r.exists("k")
    assert sorted(r.scan_iter("*", count=2)) == [b"a", b"b", b"n"]
    big = bytes(range(256)) * 8192
    r.set("big", big)
    assert r.get("big") == big and r.strlen("big") == len(big)


def lists(r):
    assert r.rpush("l", *range(1000)) == 1000
    assert r.lrange("l", 0, 2) == [b"0", b"1", b"2"] and r.lindex("l", -1) == b"999"
    assert r.lpos("l", 500) == 500 and r.linsert("l", "before", 500, "x") == 1001
    assert r.lmove("l", "m", "LEFT", "RIGHT") == b"0" and r.lmpop(2, "none", "m", direction="LEFT") == [b"m", [b"0"]]
    assert r.copy("l", "m") and r.ltrim("l", 0, 0) and r.llen("m") == 1000
    assert r.lpop("l", 5) == [b"1"] and r.type("l") == b"none"


def queues(r, port, protocol):
    """Workers take every job exactly once."""
    got, lock = [], threading.Lock()

    def worker():
        c = redis.Redis(port=port, protocol=protocol)
        while True:
            _, job = c.blpop(["jobs", "stop"], timeout=20)
            if job == b"stop":
                return
            with lock:
                got.append(int(job))

    workers = [threading.Thread(target=worker) for _ in range(4)]
    for w in workers:
        w.start()
    for i in range(500):
        r.rpush("jobs", i)
    while len(got) < 500:
        time.sleep(0.001)
    for _ in workers:
        r.rpush("stop", "stop")
    for w in workers:
        w.join()
    assert sorted(got) == list(range(500))
    assert r.blpop("none", timeout=0.05) is None


def transactions(r, port, protocol):
    """Optimistic locking: concurrent increments lose nothing."""

    def add():
        c = redis.Redis(port=port, protocol=protocol)
        for _ in range(50):
            c.transaction(lambda p: (n := int(p.get("count") or 0), p.multi(), p.set("count", n + 1)), "count")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert r.get("count") == b"200"
    with r.pipeline(transaction=False) as p:
        for i in range(1000):
            p.set(f"p:{i}", i)
        p.lpush("p:1", "x")
        results = p.execute(raise_on_error=False)
    assert results[:1000] == [True] * 1000 and isinstance(results[1000], redis.ResponseError)


def users(r, port, protocol):
    """Users with rights of their own, and what they are refused."""
    categories = ["+@read", "+@connection", "-@dangerous"]
    rules = dict(categories=categories, commands=["+acl|whoami"], keys=["r:*"])
    assert r.acl_setuser("reader", enabled=True, passwords=["+pw"], **rules)
    user = r.acl_getuser("reader")
    assert "on" in user["flags"] and len(user["passwords"]) == 1, user
    c = redis.Redis(port=port, protocol=protocol, username="reader", password="pw")
    r.set("r:1", "x")
    assert c.get("r:1") == b"x" and c.acl_whoami() in ("reader", b"reader")
    for refused in (lambda: c.get("other"), lambda: c.set("r:1", "y"), lambda: c.keys("*")):
        try:
            refused()
            raise AssertionError("it was not refused")
        except redis.exceptions.NoPermissionError:
            pass
    log = r.acl_log()
    assert [entry["reason"] for entry in log[:3]] == ["command", "command", "key"], log
    assert log[0]["username"] == "reader" and "reader" in str(log[0]["client-info"])
    assert r.acl_log_reset() and len(r.acl_users()) == 2 and len(r.acl_cat("read")) > 50
    assert r.acl_dryrun("reader", "get", "r:1") in (b"OK", "OK") and len(r.acl_genpass()) == 64
    assert r.acl_deluser("reader") == 1
    try:
        c.ping()
        raise AssertionError("the connection is closed, and the password is no more")
    except redis.exceptions.ConnectionError:
        pass


def introspection(r):
    info = r.info("everything")
    assert info["redis_version"] and info["db0"]["keys"] > 0 and "cmdstat_set" in info
    assert r.config_set("list-compress-depth", 1) and r.config_get("list-compress-depth") == {"list-compress-depth": "1"}
    assert r.client_setname("me") and r.client_getname() in ("me", b"me")
    assert any(c["name"] == "me" for c in r.client_list())
    commands = r.command()
    assert r.command_count() == len(commands) and commands["get"]["arity"] == 2
    assert r.object("encoding", "a") == b"int" and r.memory_usage("a") > 0
    assert r.slowlog_get() is not None and r.time()[0] > 0
    assert r.flushall() and r.dbsize() == 0


def encrypted(r, server, protocol):
    """The same by TLS, without a certificate and with one that is its own authority."""
    for options in ({}, {"ssl_certfile": server.ca, "ssl_keyfile": server.key}):
        r.flushall()
        client = server.over_tls(protocol, **options)
        strings(client)
        lists(client)
        if protocol == 3:
            continue  # Messages are pushes there, which redis-py prints.
        with client.pubsub() as hearer:
            hearer.subscribe("c")
            assert hearer.get_message(timeout=5)["type"] == "subscribe"
            assert client.publish("c", "m" * 100_000) == 1
            assert len(hearer.get_message(timeout=5)["data"]) == 100_000
    r.flushall()


def main():
    path, passed = sys.argv[1], 0
    for threads in (1, 2, 4):
        for protocol in (2, 3):
            server = Server(path, threads)
            try:
                r = redis.Redis(port=server.port, protocol=protocol)
                for scenario, args in (
                    (strings, ()),
                    (lists, ()),
                    (queues, (server.port, protocol)),
                    (transactions, (server.port, protocol)),
                    (users, (server.port, protocol)),
                    (introspection, ()),
                    (encrypted, (server, protocol)),
                ):
                    scenario(r, *args)
                    passed += 1
            finally:
                server.close()
    print(f"redis-py {redis.__version__}: {passed} passed, 0 failed")


main()
