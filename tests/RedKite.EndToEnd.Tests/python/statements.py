"""What the scripts of this folder share: assertions that are counted, and waiting with a limit."""
import time

count = 0


def holds(actual, expected):
    global count
    count += 1
    assert actual == expected, f"statement {count}: {actual!r} is not {expected!r}"


def eventually(condition, seconds=30):
    global count
    count += 1
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"statement {count} is still false"
        time.sleep(0.01)


def report():
    print(f"{count} statements hold")
