"""python3-redis against a server: strings, keys, pipelines, decoding, client information.

Usage: client.py PORT. Exits with a traceback at the first failed assertion.
"""
import sys
import threading
import time

sys.dont_write_bytecode = True

import redis

from statements import holds, report


def raises(action, text):
    try:
        action()
    except redis.ResponseError as error:
        holds(text in str(error), True)
    else:
        raise AssertionError(f"no error with {text!r}")


def strings(r):
    holds(r.ping(), True)
    holds(r.echo("hello"), b"hello")
    holds(r.set("k", "v"), True)
    holds(r.get("k"), b"v")
    holds(r.get("none"), None)
    holds(r.set("k", "w", nx=True), None)
    holds(r.set("k", "w", xx=True, get=True), b"v")
    holds(r.set("k", "x", ex=10000), True)
    holds(9900 <= r.ttl("k") <= 10000, True)
    holds(r.set("k", "y", keepttl=True), True)
    holds(r.ttl("k") > 0, True)
    holds(r.setex("e", 100, "v"), True)
    holds(r.psetex("e", 100000, "v"), True)
    holds(r.setnx("e", "w"), False)
    holds(r.getex("e", persist=True), b"v")
    holds(r.ttl("e"), -1)
    holds(r.getdel("e"), b"v")
    holds(r.getset("k", "z"), b"y")
    holds(r.mset({"a": 1, "b": 2}), True)
    holds(r.mget("a", "b", "none"), [b"1", b"2", None])
    holds(r.msetnx({"b": 3, "c": 3}), False)
    holds(r.incr("a"), 2)
    holds(r.incrby("a", 40), 42)
    holds(r.decr("a"), 41)
    holds(r.decrby("a", 41), 0)
    holds(r.incrbyfloat("f", 0.1), 0.1)
    holds(r.incrbyfloat("f", 0.2), 0.3)
    holds(r.append("s", "Hello "), 6)
    holds(r.append("s", "World"), 11)
    holds(r.strlen("s"), 11)
    holds(r.getrange("s", 0, 4), b"Hello")
    holds(r.setrange("s", 6, "Redis"), 11)
    holds(r.get("s"), b"Hello Redis")
    every_byte = bytes(range(256)) * 300
    holds(r.set(b"\x00\xff", every_byte), True)
    holds(r.get(b"\x00\xff"), every_byte)
    raises(lambda: r.incr("s"), "value is not an integer or out of range")
    raises(lambda: r.execute_command("NOSUCH"), "unknown command")


def keys(r):
    r.flushdb()
    r.mset({f"key:{i}": i for i in range(500)})
    holds(r.dbsize(), 500)
    holds(sorted(r.scan_iter(match="key:*", count=37)), sorted(f"key:{i}".encode() for i in range(500)))
    holds(len(set(r.scan_iter(_type="string"))), 500)
    holds(list(r.scan_iter(_type="hash")), [])
    holds(sorted(r.keys("key:12?")), [f"key:12{i}".encode() for i in range(10)])
    holds(r.exists("key:1", "key:2", "none"), 2)
    holds(r.type("key:1"), b"string")
    holds(r.type("none"), b"none")
    holds(r.expire("key:1", 100), True)
    holds(r.expire("key:1", 50, gt=True), False)
    holds(r.pexpire("key:1", 200000, gt=True), True)
    holds(r.persist("key:1"), True)
    holds(r.expireat("key:1", 4102444800), True)
    holds(r.expiretime("key:1"), 4102444800)
    holds(r.rename("key:1", "renamed"), True)
    holds(r.renamenx("renamed", "key:2"), False)
    holds(r.copy("renamed", "copied"), True)
    holds(r.touch("copied", "none"), 1)
    holds(r.delete("copied", "none"), 1)
    holds(r.unlink("renamed"), 1)
    holds(r.object("encoding", "key:2"), b"int")
    holds(r.move("key:2", 1), True)
    holds(r.randomkey().startswith(b"key:"), True)
    raises(lambda: r.rename("none", "x"), "no such key")


def pipelines(r):
    r.flushdb()
    with r.pipeline(transaction=False) as pipeline:
        for i in range(1000):
            pipeline.set(f"p:{i}", i).get(f"p:{i}").incr("counter")
        replies = pipeline.execute()
    holds(len(replies), 3000)
    holds(replies[1::3], [str(i).encode() for i in range(1000)])
    holds(replies[2::3], list(range(1, 1001)))
    with r.pipeline(transaction=False) as pipeline:
        pipeline.set("text", "a").incr("text").get("text")
        replies = pipeline.execute(raise_on_error=False)
    holds(isinstance(replies[1], redis.ResponseError), True)
    holds(replies[2], b"a")


def decoding(port):
    r = redis.Redis(port=port, decode_responses=True, client_name="decoder")
    r.set("ключ", "значение")
    holds(r.get("ключ"), "значение")
    holds(r.keys("кл*"), ["ключ"])
    holds(r.client_getname(), "decoder")
    info = r.client_info()
    holds((info["name"], int(info["db"]), info["cmd"]), ("decoder", 0, "client|info"))
    holds(any(client["name"] == "decoder" for client in r.client_list()), True)
    holds(r.client_id(), int(info["id"]))
    holds(r.info("server")["redis_mode"], "standalone")
    holds("db0" in r.info("keyspace"), True)
    holds(r.config_get("maxmemory-policy"), {"maxmemory-policy": "noeviction"})
    holds(r.config_set("slowlog-max-len", 128), True)
    commands = r.command()
    holds(r.command_count(), len(commands))
    holds((commands["get"]["arity"], sorted(commands["get"]["flags"]), commands["get"]["first_key_pos"]), (2, ["fast", "readonly"], 1))
    holds(r.command_getkeys("MSET", "a", "1", "b", "2"), ["a", "b"])
    holds(abs(r.time()[0] - time.time()) < 60, True)
    r.set("large", "x" * 100_000)
    holds(100_000 < r.memory_usage("large") < 200_000, True)
    holds(r.config_set("slowlog-log-slower-than", 0), True)
    r.get("slow")
    holds(r.config_set("slowlog-log-slower-than", 10_000), True)
    holds(any(entry["command"] == b"GET slow" for entry in r.slowlog_get()), True)
    r.close()


def threads(port):
    pool = redis.ConnectionPool(port=port)
    r = redis.Redis(connection_pool=pool)
    r.delete("shared")
    workers = [threading.Thread(target=lambda: [r.incr("shared") for _ in range(500)]) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    holds(r.get("shared"), b"4000")
    pool.disconnect()


def main():
    port = int(sys.argv[1])
    r = redis.Redis(port=port, socket_timeout=60)
    strings(r)
    keys(r)
    pipelines(r)
    decoding(port)
    threads(port)
    holds(r.flushall(), True)
    report()


main()
