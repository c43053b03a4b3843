"""rq against a server: worker processes work jobs; results, failures, retries, delayed and dependent jobs.

Usage: rq_jobs.py PORT. Exits with a traceback at the first failed assertion.
"""
import faulthandler
import os
import subprocess
import sys
from datetime import timedelta

os.environ["RQ_TASKS_PORT"] = sys.argv[1]
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = True

import redis
from rq import Queue, Retry
from rq.command import send_shutdown_command
from rq.job import Job, JobStatus
from rq.registry import DeferredJobRegistry, FailedJobRegistry, FinishedJobRegistry, ScheduledJobRegistry, StartedJobRegistry
from rq.worker import Worker

import rq_tasks
from statements import eventually, holds, report

faulthandler.dump_traceback_later(100, exit=True)

FOLDER = os.path.dirname(os.path.abspath(__file__))


def worker_command(port, *options):
    # timeout ends a worker that this script could not end.
    return ["timeout", "--foreground", "--kill-after=5", "120", sys.executable, "-m", "rq.cli", "worker", "--quiet",
            "--url", f"redis://127.0.0.1:{port}", "--path", FOLDER, *options]


def worker(port, *queues):
    """Runs a worker process until its queues are empty. What it prints is not compared: it is the tracebacks of failed jobs."""
    command = worker_command(port, "--burst", *queues)
    holds(subprocess.run(command, timeout=60, capture_output=True, cwd=FOLDER).returncode, 0)


def jobs_have_results(r, port):
    queue = Queue("high", connection=r)
    low = Queue("low", connection=r)
    added = queue.enqueue(rq_tasks.add, 2, 3)
    sums = queue.enqueue_many([Queue.prepare_data(rq_tasks.add, (i, i), job_id=f"sum-{i}") for i in range(5)])
    greeting = low.enqueue(rq_tasks.greet, kwargs={"name": "мир"}, meta={"by": "test"}, result_ttl=500)
    first = low.enqueue(rq_tasks.append, "order", "low")
    front = low.enqueue(rq_tasks.append, "order", "front", at_front=True)
    failing = queue.enqueue(rq_tasks.fail, "on purpose")
    after = queue.enqueue(rq_tasks.add, 20, 1, depends_on=added)
    orphan = queue.enqueue(rq_tasks.add, 0, 0, depends_on=failing)
    many = queue.enqueue(rq_tasks.add, 5, 5, depends_on=[added, sums[4]])
    holds((len(queue), len(low)), (7, 3))
    holds(set(DeferredJobRegistry("high", connection=r).get_job_ids()), {after.id, orphan.id, many.id})
    holds(queue.fetch_job("sum-3").args, (3, 3))

    worker(port, "high", "low")

    holds((added.result, greeting.result, [job.result for job in sums]), (5, "hello мир", [0, 2, 4, 6, 8]))
    holds((after.result, many.result), (21, 10))
    holds((orphan.get_status(), failing.get_status(refresh=True)), (JobStatus.DEFERRED, JobStatus.FAILED))
    failing.refresh()
    holds("ValueError: on purpose" in failing.exc_info, True)
    holds(greeting.get_meta(), {"by": "test"})
    holds((first.get_status(), front.get_status()), (JobStatus.FINISHED, JobStatus.FINISHED))
    holds(r.lrange("order", 0, -1), [b"front", b"low"])
    holds(FailedJobRegistry("high", connection=r).get_job_ids(), [failing.id])
    finished = FinishedJobRegistry("high", connection=r)
    holds(set(finished.get_job_ids()), {added.id, after.id, many.id, *(job.id for job in sums)})
    holds(len(StartedJobRegistry("high", connection=r)), 0)
    holds(0 < r.ttl(greeting.key) <= 500, True)
    holds((len(queue), len(low)), (0, 0))

    # A failed job is put back, fails again, and is deleted.
    holds(FailedJobRegistry("high", connection=r).requeue(failing.id).get_status(), JobStatus.QUEUED)
    worker(port, "high")
    holds(FailedJobRegistry("high", connection=r).get_job_ids(), [failing.id])
    failing.delete()
    holds((len(FailedJobRegistry("high", connection=r)), Job.exists(failing.id, connection=r)), (0, False))


def failed_jobs_are_retried(r, port):
    queue = Queue("retried", connection=r)
    flaky = queue.enqueue(rq_tasks.succeed_at_try, "tries", 3, retry=Retry(max=3))
    hopeless = queue.enqueue(rq_tasks.succeed_at_try, "hopeless tries", 99, retry=Retry(max=1))
    worker(port, "retried")
    holds((flaky.result, r.get("tries"), flaky.get_status()), ("try 3", b"3", JobStatus.FINISHED))
    holds((r.get("hopeless tries"), hopeless.get_status()), (b"2", JobStatus.FAILED))


def delayed_jobs_wait(r, port):
    queue = Queue("delayed", connection=r)
    soon = queue.enqueue_in(timedelta(seconds=1), rq_tasks.add, 1, 1)
    later = queue.enqueue_in(timedelta(hours=1), rq_tasks.add, 2, 2)
    scheduled = ScheduledJobRegistry("delayed", connection=r)
    holds((len(queue), set(scheduled.get_job_ids())), (0, {soon.id, later.id}))
    running = subprocess.Popen(worker_command(port, "--with-scheduler", "delayed"), cwd=FOLDER, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: soon.get_status() == JobStatus.FINISHED)
        holds((soon.result, scheduled.get_job_ids()), (2, [later.id]))
        # The idle worker blocks in BLPOP and takes what comes.
        late = queue.enqueue(rq_tasks.add, 40, 2)
        eventually(lambda: late.get_status() == JobStatus.FINISHED)
        holds((late.result, len(queue), len(FinishedJobRegistry("delayed", connection=r))), (42, 0, 2))
        # Commands reach it by pub/sub.
        workers = Worker.all(connection=r)
        holds(len(workers), 1)
        send_shutdown_command(r, workers[0].name)
        holds(running.wait(30), 0)
    finally:
        if running.poll() is None:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait(10)
    holds(len(Worker.all(connection=r)), 0)
    holds(r.zcard("rq:scheduled:delayed"), 1)


def main():
    port = int(sys.argv[1])
    r = redis.Redis(port=port, socket_timeout=60)
    jobs_have_results(r, port)
    failed_jobs_are_retried(r, port)
    delayed_jobs_wait(r, port)
    holds(r.flushall(), True)
    report()


main()
