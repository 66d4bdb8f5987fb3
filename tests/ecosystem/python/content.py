"""Prints what the server at REDIS_PORT holds, in order, so that two outputs can be compared. Keys that expire are left out."""

import redis

from scenario import PORT


def value(r, key, kind):
    match kind:
        case b"string":
            return r.get(key)
        case b"list":
            return r.lrange(key, 0, -1)
        case b"hash":
            return sorted(r.hgetall(key).items())
        case b"set":
            return sorted(r.smembers(key))
        case b"zset":
            return r.zrange(key, 0, -1, withscores=True)
        case b"stream":
            groups = [(group["name"], group["pending"], group["last-delivered-id"]) for group in r.xinfo_groups(key)]
            return r.xrange(key), groups
    raise ValueError(kind)


for database in range(4):
    connection = redis.Redis(port=PORT, db=database)
    for name in sorted(connection.scan_iter(count=1000)):
        if connection.pttl(name) == -1:
            what = connection.type(name)
            print(database, name, what, value(connection, name, what))
print(redis.Redis(port=PORT, decode_responses=True).function_list(withcode=True))
