"""The application of celery_jobs.py, as the worker process imports it."""
import os

from celery import Celery

PORT = os.environ["CELERY_JOBS_PORT"]

app = Celery("celery_tasks", broker=f"redis://127.0.0.1:{PORT}/0", backend=f"redis://127.0.0.1:{PORT}/1")
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    result_expires=600,
    broker_connection_retry=False,
    broker_transport_options={"visibility_timeout": 60},
)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def fail(text):
    raise ValueError(text)


@app.task(bind=True, max_retries=3, default_retry_delay=0.05)
def succeed_at_retry(self, wanted):
    if self.request.retries < wanted:
        raise self.retry()
    return self.request.retries


@app.task(bind=True)
def report_progress(self):
    self.update_state(state="PROGRESS", meta={"done": 50})
    return self.backend.get_state(self.request.id)
