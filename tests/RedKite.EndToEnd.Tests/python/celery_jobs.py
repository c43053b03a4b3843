"""celery against a server as broker and result store: a worker process, groups, chains, chords, retries, delays, revocation.

Usage: celery_jobs.py PORT. Exits with a traceback at the first failed assertion.
"""
import faulthandler
import os
import signal
import subprocess
import sys
import time

os.environ["CELERY_JOBS_PORT"] = sys.argv[1]
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = True

import redis
from celery import chain, chord, group
from celery.exceptions import TaskRevokedError

import celery_tasks as tasks
from statements import eventually, holds, report

faulthandler.dump_traceback_later(100, exit=True)

FOLDER = os.path.dirname(os.path.abspath(__file__))


def started_worker():
    # timeout ends a worker that this script could not end.
    command = ["timeout", "--foreground", "--kill-after=5", "120", sys.executable, "-m", "celery", "--app", "celery_tasks", "worker",
               "--concurrency", "2", "--loglevel", "ERROR", "--without-mingle", "--hostname", "e2e@localhost"]
    # celery reads NO_COLOR as a boolean and refuses other values, which test runners set.
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    # A process group of its own, which ends with the script whatever happens.
    return subprocess.Popen(
        command, cwd=FOLDER, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def work(r):
    # Queued before there is a worker.
    early = tasks.add.delay(1, 2)
    holds(r.llen("celery"), 1)
    worker = started_worker()
    try:
        holds(early.get(timeout=30), 3)
        holds(group(tasks.add.s(i, i) for i in range(10)).apply_async().get(timeout=30), [2 * i for i in range(10)])
        holds(chain(tasks.add.s(1, 2), tasks.add.s(3), tasks.add.s(4)).apply_async().get(timeout=30), 10)
        holds(chord((tasks.add.s(i, 1) for i in range(6)), tasks.total.s()).apply_async().get(timeout=30), 21)

        failed = tasks.fail.delay("on purpose")
        error = failed.get(timeout=30, propagate=False)
        holds((type(error), str(error), failed.state), (ValueError, "on purpose", "FAILURE"))
        holds(tasks.succeed_at_retry.delay(2).get(timeout=30), 2)

        sent = time.monotonic()
        delayed = tasks.add.apply_async((5, 5), countdown=1)
        holds(delayed.get(timeout=30), 10)
        holds(time.monotonic() - sent >= 0.9, True)

        revoked = tasks.add.apply_async((1, 1), countdown=2)
        revoked.revoke()
        try:
            revoked.get(timeout=30)
            raise AssertionError("not revoked")
        except TaskRevokedError:
            holds(revoked.state, "REVOKED")

        # The remote control: requests and replies by pub/sub and lists.
        control = tasks.app.control
        holds(control.ping(timeout=10, limit=1), [{"e2e@localhost": {"ok": "pong"}}])
        holds("celery_tasks.add" in control.inspect(timeout=10, limit=1).registered()["e2e@localhost"], True)

        holds(tasks.report_progress.delay().get(timeout=30), "PROGRESS")
        results = redis.Redis(port=int(sys.argv[1]), db=1, socket_timeout=30)
        holds(0 < results.ttl(b"celery-task-meta-" + early.id.encode()) <= 600, True)
        early.forget()
        holds(results.exists(b"celery-task-meta-" + early.id.encode()), 0)
        eventually(lambda: r.llen("celery") == 0 and r.hlen("unacked") == 0 and r.zcard("unacked_index") == 0)

        worker.send_signal(signal.SIGTERM)
        holds(worker.wait(30), 0)
    finally:
        try:
            os.killpg(worker.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        worker.wait(10)


def main():
    r = redis.Redis(port=int(sys.argv[1]), socket_timeout=60)
    work(r)
    holds(r.flushall(), True)
    report()


main()
