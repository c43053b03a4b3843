"""python3-redis in sentinel mode: writes until a failover has happened, and goes on.

Usage: sentinel_writer.py SENTINEL-PORT ... It sets the key `writer` when it has begun. Exits with a traceback at the first failed assertion.
"""
import faulthandler
import sys
import time

sys.dont_write_bytecode = True

from redis.exceptions import RedisError
from redis.sentinel import Sentinel

from statements import eventually, holds, report

faulthandler.dump_traceback_later(140, exit=True)

WRITES_AFTERWARDS = 100

sentinel = Sentinel([("127.0.0.1", int(port)) for port in sys.argv[1:]], socket_timeout=5)
first = sentinel.discover_master("m")
eventually(lambda: len(sentinel.discover_slaves("m")) == 2)
primary = sentinel.master_for("m", socket_timeout=5)
primary.set("writer", "begun")

# A write counts when all replicas have it: which of them is chosen is not known.
confirmed = []
number = 0
replicas = 2
left = WRITES_AFTERWARDS


def write():
    global number, replicas, left
    number += 1
    try:
        primary.set(f"written:{number}", number)
        if primary.wait(replicas, 1000) >= replicas:
            confirmed.append(number)
            left -= replicas == 1
        if replicas == 2 and sentinel.discover_master("m") != first:
            replicas = 1
    except (RedisError, OSError):
        pass  # the sentinels have not chosen yet
    return left == 0


eventually(write, seconds=120)
holds([n for n in confirmed if primary.get(f"written:{n}") != str(n).encode()], [])
report()
