"""python3-redis in cluster mode: writes and reads until its input ends, and writes down each operation for the checker.

Usage: cluster_writer.py HISTORY NAME SEED READABLE HOST:PORT ... READABLE are the names, with commas, whose keys are read. The history's lines are those of RedKite.ClusterChecker.
"""
import logging
import random
import sys
import threading
import time

sys.dont_write_bytecode = True

from redis.cluster import ClusterNode, RedisCluster
from redis.connection import Connection
from redis import exceptions

VALUES = 6
LISTS = 4
PUSHES = 60
PAUSE = 0.008
TIMEOUT = 2

WRITES = ("SET", "RPUSH")


class NoReply(exceptions.RedisError):
    """A write whose reply has not come in time. The library would send it again, and what it has sent may still arrive behind that and behind later writes: it would be executed twice."""


class OnceConnection:
    """What is changed of the library's connections, so that a write is sent once."""

    send, read = Connection.send_command, Connection.read_response

    def send_command(self, *args, **kwargs):
        self.sent = args[0]
        OnceConnection.send(self, *args, **kwargs)

    def read_response(self, *args, **kwargs):
        try:
            return OnceConnection.read(self, *args, **kwargs)
        except exceptions.TimeoutError as failure:
            if self.sent in WRITES:
                raise NoReply(str(failure)) from failure
            raise


Connection.send_command, Connection.read_response = OnceConnection.send_command, OnceConnection.read_response

FAILURES = (exceptions.RedisError, exceptions.RedisClusterException, OSError)  # the second is no RedisError
KINDS = [
    (exceptions.AskError, "ASK"), (exceptions.MovedError, "MOVED"), (exceptions.TryAgainError, "TRYAGAIN"), (exceptions.ClusterDownError, "CLUSTERDOWN"), (exceptions.MasterDownError, "MASTERDOWN"),
    (exceptions.BusyLoadingError, "LOADING"), (exceptions.ReadOnlyError, "READONLY"),
]

history, name, seed, readable, nodes = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].split(","), [node.rsplit(":", 1) for node in sys.argv[5:]]
draw = random.Random(seed)
ended = threading.Event()
logging.disable(logging.CRITICAL)  # the library tells of each failure with a stack


def wait_for_end():
    sys.stdin.read()
    ended.set()


threading.Thread(target=wait_for_end, daemon=True).start()


def kind_of(failure):
    for kind, text in KINDS:
        if isinstance(failure, kind):
            return text
    if isinstance(failure, exceptions.ResponseError):
        return str(failure).split(" ")[0]
    return f"library:{type(failure).__name__}"


def connect():
    while not ended.is_set():
        try:
            return RedisCluster(startup_nodes=[ClusterNode(host, int(port)) for host, port in nodes], socket_timeout=TIMEOUT, socket_connect_timeout=1, cluster_error_retry_attempts=1)
        except FAILURES:
            time.sleep(0.1)


def run(output, cluster, kind, key, value, operation):
    """Without a reply nothing is known: the library may have asked more than one node."""
    begin = time.monotonic_ns()
    outcome, error, failed = "ok", "-", False
    try:
        result = operation(cluster)
        if kind == "get":
            value = "-" if result is None else result.decode()
        elif kind == "range":
            value = ",".join(element.decode() for element in result) or "-"
    except FAILURES as failure:
        outcome, error, failed = "unknown", kind_of(failure), True
    output.write(f"op\t{name}\t{key}\t{kind}\t{value}\t{begin}\t{time.monotonic_ns()}\t{outcome}\t-\t-\t{error}\n")
    output.flush()
    return failed


with open(history, "w", encoding="utf-8") as output:
    cluster = connect()
    number = pushed = failures = 0
    while not ended.is_set():
        number += 1
        value = f"{name}:{number}"
        what = draw.randrange(10)
        if what < 4:
            key = f"{name}:v:{draw.randrange(VALUES)}"
            failed = run(output, cluster, "set", key, value, lambda c: c.set(key, value))
        elif what < 6:
            key = f"{name}:l:{pushed // PUSHES}"
            failed = run(output, cluster, "push", key, value, lambda c: c.rpush(key, value))
            pushed += not failed
        elif what < 9:
            key = f"{draw.choice(readable)}:v:{draw.randrange(VALUES)}"
            failed = run(output, cluster, "get", key, "-", lambda c: c.get(key))
        else:
            key = f"{name}:l:{pushed // PUSHES}" if draw.randrange(2) else f"{draw.choice(readable)}:l:{draw.randrange(LISTS)}"
            failed = run(output, cluster, "range", key, "-", lambda c: c.lrange(key, 0, -1))
        failures = failures + 1 if failed else 0
        if failures > 0 and failures % 3 == 0 and not ended.is_set():  # as a program does whose client stays broken
            cluster.close()
            cluster = connect()
        ended.wait(PAUSE * (10 if failed else 1))
