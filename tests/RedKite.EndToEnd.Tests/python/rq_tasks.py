"""The jobs of rq_jobs.py, as the worker processes import them."""
import os

import redis


def connection():
    return redis.Redis(port=int(os.environ["RQ_TASKS_PORT"]), socket_timeout=30)


def add(a, b):
    return a + b


def greet(name):
    return f"hello {name}"


def append(key, value):
    return connection().rpush(key, value)


def fail(text):
    raise ValueError(text)


def succeed_at_try(key, wanted):
    tries = connection().incr(key)
    if tries < wanted:
        raise RuntimeError(f"try {tries}")
    return f"try {tries}"
