"""python3-redis against a server: transactions, pipelines, pub/sub, notifications, registered scripts, locks and streams.

Usage: atomicity.py PORT. Exits with a traceback at the first failed assertion.
"""
import faulthandler
import sys
import threading
import time

sys.dont_write_bytecode = True

import redis
from redis.exceptions import LockError, LockNotOwnedError, NoScriptError, ResponseError, WatchError

from statements import eventually, holds, report

faulthandler.dump_traceback_later(50, exit=True)


def raises(kind, action, text=""):
    try:
        action()
    except kind as error:
        holds(text in str(error), True)
    else:
        raise AssertionError(f"no {kind.__name__}")


def in_threads(count, work):
    """Runs work(0) to work(count - 1) at the same time. A failure in one of them fails the script."""
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holds(failures, [])


def transactions(r):
    with r.pipeline() as pipeline:
        pipeline.set("a", 1).incr("a").lpush("list", "x", "y").lrange("list", 0, -1)
        holds(pipeline.execute(), [True, 2, 2, [b"y", b"x"]])
    with r.pipeline() as pipeline:
        pipeline.incr("list").set("after", "set")
        raises(ResponseError, pipeline.execute, "WRONGTYPE")
    holds(r.get("after"), b"set")
    with r.pipeline() as pipeline:
        pipeline.set("queued", 1).execute_command("NOSUCH")
        raises(ResponseError, pipeline.execute, "unknown command")
    holds(r.exists("queued"), 0)
    with r.pipeline() as pipeline:
        pipeline.watch("a")
        r.incr("a")
        pipeline.multi()
        pipeline.set("lost", 1)
        raises(WatchError, pipeline.execute)
    holds(r.exists("lost"), 0)
    with r.pipeline() as pipeline:
        pipeline.watch("a")
        r.incr("a")
        pipeline.unwatch()
        pipeline.multi()
        pipeline.set("kept", 1)
        holds(pipeline.execute(), [True])
    r.set("short", "v", px=30)
    with r.pipeline() as pipeline:
        pipeline.watch("short")
        time.sleep(0.06)
        pipeline.multi()
        pipeline.get("short")
        raises(WatchError, pipeline.execute)


def optimistic_retry(r):
    """Money moves between accounts under WATCH from many threads; transaction() retries by itself."""
    accounts = [f"account:{i}" for i in range(4)]
    r.mset({account: 1000 for account in accounts})
    retries = []

    def transfer(i):
        for round in range(25):
            source, target = accounts[(i + round) % 4], accounts[(i + round + 1) % 4]
            tries = []

            def move(pipeline):
                tries.append(1)
                balance = int(pipeline.get(source))
                other = int(pipeline.get(target))
                pipeline.multi()
                pipeline.set(source, balance - 1)
                pipeline.set(target, other + 1)

            r.transaction(move, source, target)
            retries.append(len(tries) - 1)

    in_threads(4, transfer)
    holds(sum(int(balance) for balance in r.mget(accounts)), 4000)
    holds(len(retries), 100)


def long_pipelines(r):
    for transaction in (False, True):
        with r.pipeline(transaction=transaction) as pipeline:
            for i in range(2000):
                pipeline.hset("hash", f"field:{i}", i).zadd("sorted", {f"member:{i}": i}).rpush("queue", i)
            replies = pipeline.execute()
        holds(len(replies), 6000)
        holds((r.hlen("hash"), r.zcard("sorted"), r.llen("queue")), (2000, 2000, 2000))
        holds(r.zrange("sorted", -1, -1, withscores=True), [(b"member:1999", 1999.0)])
        r.delete("hash", "sorted", "queue")


def publish_subscribe(r):
    received = []
    subscriber = r.pubsub(ignore_subscribe_messages=True)
    subscriber.subscribe(**{"news": lambda message: received.append(message["data"])})
    subscriber.psubscribe(**{"log.*": lambda message: received.append((message["pattern"], message["channel"], message["data"]))})
    thread = subscriber.run_in_thread(sleep_time=0.01, daemon=True)
    try:
        eventually(lambda: r.pubsub_numsub("news") == [(b"news", 1)] and r.pubsub_numpat() == 1)
        holds(r.publish("news", "one"), 1)
        holds(r.publish("log.app", "two"), 1)
        holds(r.publish("other", "none"), 0)
        holds(r.pubsub_channels("n*"), [b"news"])
        with r.pipeline() as pipeline:
            pipeline.publish("news", "three").publish("log.db", "four")
            holds(pipeline.execute(), [1, 1])
        eventually(lambda: len(received) == 4)
        holds(received, [b"one", (b"log.*", b"log.app", b"two"), b"three", (b"log.*", b"log.db", b"four")])
    finally:
        thread.stop()
        thread.join(10)
    eventually(lambda: r.pubsub_numpat() == 0)

    subscriber = r.pubsub()
    subscriber.subscribe("a", "b")
    holds([subscriber.get_message(timeout=5)["data"] for _ in range(2)], [1, 2])
    subscriber.ping("still here")
    holds(subscriber.get_message(timeout=5)["data"], b"still here")
    subscriber.unsubscribe()
    last = [subscriber.get_message(timeout=5) for _ in range(2)]
    holds((sorted(message["channel"] for message in last), [message["data"] for message in last]), ([b"a", b"b"], [1, 0]))
    subscriber.close()


def keyspace_notifications(r):
    before = r.config_get("notify-keyspace-events")["notify-keyspace-events"]
    r.config_set("notify-keyspace-events", "KEA")
    subscriber = r.pubsub(ignore_subscribe_messages=True)
    subscriber.psubscribe("__keyevent@0__:*")
    subscriber.get_message(timeout=5)
    r.set("noted", "v", px=40)
    r.lpush("noted:list", 1)
    r.rpop("noted:list")
    r.xadd("noted:stream", {"a": 1})
    events = [message_within(subscriber, 5) for _ in range(7)]
    holds(
        sorted((message["channel"].split(b":")[1], message["data"]) for message in events),
        sorted([(b"set", b"noted"), (b"expire", b"noted"), (b"lpush", b"noted:list"), (b"rpop", b"noted:list"), (b"del", b"noted:list"),
                (b"xadd", b"noted:stream"), (b"expired", b"noted")]))
    subscriber.close()
    r.config_set("notify-keyspace-events", before)


def scripts(r):
    multiply = r.register_script("""
        local value = tonumber(redis.call('GET', KEYS[1]))
        value = value * tonumber(ARGV[1])
        redis.call('SET', KEYS[1], value)
        return value""")
    r.set("number", 3)
    holds(multiply(keys=["number"], args=[7]), 21)
    holds(r.script_exists(multiply.sha), [True])
    r.script_flush()
    raises(NoScriptError, lambda: r.evalsha(multiply.sha, 1, "number", 2))
    holds(multiply(keys=["number"], args=[2]), 42)  # loads itself again
    r.script_flush()
    with r.pipeline() as pipeline:
        multiply(keys=["number"], args=[2], client=pipeline)
        pipeline.get("number")
        holds(pipeline.execute(), [84, b"84"])
    shapes = r.register_script("return {1, 'two', {3, {4}}, false, true, 5.9, redis.status_reply('FINE'), nil, 'unseen'}")
    holds(shapes(), [1, b"two", [3, [4]], None, 1, 5, b"FINE"])
    raises(ResponseError, r.register_script("return redis.error_reply('MINE of it')"), "MINE of it")
    raises(ResponseError, r.register_script("return redis.call('INCR', 'list')"), "WRONGTYPE")
    holds(r.register_script("return redis.pcall('INCR', 'list').err ~= nil")(), 1)
    holds(r.eval("return cjson.encode({cjson.decode(ARGV[1]).name, #KEYS})", 2, "a", "b", '{"name": "x"}'), b'["x",2]')
    holds(r.eval("return cmsgpack.unpack(cmsgpack.pack({1, 'a', {k = 2}}))[3].k", 0), 2)
    r.execute_command("FUNCTION", "LOAD", "REPLACE", "#!lua name=e2e\nredis.register_function('e2e_add', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)")
    holds(r.execute_command("FCALL", "e2e_add", 1, "sum", 5), 5)
    holds(r.execute_command("FUNCTION", "DELETE", "e2e"), b"OK")


def locks(r):
    first = r.lock("lock", timeout=10)
    holds(first.acquire(blocking=False), True)
    second = r.lock("lock", timeout=10)
    holds(second.acquire(blocking=False), False)
    holds(second.acquire(blocking_timeout=0.2), False)
    holds((first.locked(), first.owned(), second.owned()), (True, True, False))
    raises(LockError, second.release)
    holds(first.extend(10), True)
    holds(11_000 < r.pttl("lock") <= 20_000, True)
    holds(first.reacquire(), True)
    holds(9_000 < r.pttl("lock") <= 10_000, True)
    first.release()
    holds(second.acquire(blocking=False), True)
    second.release()
    raises(LockError, first.release)

    short = r.lock("lock", timeout=0.05)
    short.acquire()
    time.sleep(0.1)
    raises(LockNotOwnedError, short.release)

    inside, most = [], []

    def enter(i):
        for _ in range(5):
            with r.lock("shared lock", timeout=20, sleep=0.002):
                inside.append(i)
                most.append(len(inside))
                r.set("unguarded", int(r.get("unguarded") or 0) + 1)
                inside.remove(i)

    in_threads(4, enter)
    holds((max(most), r.get("unguarded"), r.exists("shared lock")), (1, b"20", 0))


def blocking_and_groups(r):
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(r.blpop(["jobs:high", "jobs:low"], timeout=20)), daemon=True)
    waiter.start()
    eventually(lambda: any(client["cmd"] == "blpop" for client in r.client_list()))
    r.rpush("jobs:low", "job")
    waiter.join(20)
    holds(answers, [(b"jobs:low", b"job")])
    holds(r.blpop("jobs:low", timeout=0.1), None)

    holds(r.xgroup_create("events", "workers", id="0", mkstream=True), True)
    ids = [r.xadd("events", {"n": i}) for i in range(10)]
    taken = r.xreadgroup("workers", "alice", {"events": ">"}, count=4)
    holds([entry for entry, _ in taken[0][1]], ids[:4])
    holds(r.xack("events", "workers", *ids[:2]), 2)
    holds(r.xpending("events", "workers")["pending"], 2)
    claimed = r.xautoclaim("events", "workers", "bob", min_idle_time=0)
    holds([entry for entry, _ in claimed[1]], ids[2:4])
    holds(len(r.xreadgroup("workers", "bob", {"events": ">"}, block=1000)[0][1]), 6)
    holds(r.xreadgroup("workers", "bob", {"events": ">"}, block=20), [])


def message_within(subscriber, seconds):
    """The next message that is no confirmation; get_message itself returns early on those."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        message = subscriber.get_message(timeout=0.1)
        if message is not None:
            return message
    raise AssertionError("no message")


def main():
    r = redis.Redis(port=int(sys.argv[1]), socket_timeout=30)
    for part in (transactions, optimistic_retry, long_pipelines, publish_subscribe, keyspace_notifications, scripts, locks, blocking_and_groups):
        part(r)
    holds(r.flushall(), True)
    report()


main()
