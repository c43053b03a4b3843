"""python3-redis's API of RedisTimeSeries against a server.

Usage: series.py PORT. Exits with a traceback at the first failed assertion.
"""
import faulthandler
import sys

sys.dont_write_bytecode = True

import redis
from redis.exceptions import ResponseError

from statements import holds, report

faulthandler.dump_traceback_later(50, exit=True)
client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
series = client.ts()

holds(series.create("a", retention_msecs=5000, chunk_size=128, duplicate_policy="last", labels={"room": "study", "type": "temp"}), True)
holds(series.alter("a", retention_msecs=0), True)
holds(series.add("a", 1, 1.5), 1)
holds(series.add("now", "*", 2) > 1_600_000_000_000, True)
holds(series.madd([("a", 2, 2.5), ("a", 3, 7)]), [2, 3])
holds(series.incrby("a", 2, timestamp=4), 4)
holds(series.decrby("a", 1, timestamp=5), 5)
holds(series.get("a"), (5, 8.0))
holds(series.range("a", "-", "+"), [(1, 1.5), (2, 2.5), (3, 7.0), (4, 9.0), (5, 8.0)])
holds(series.revrange("a", "-", "+", count=2), [(5, 8.0), (4, 9.0)])
holds(series.range("a", 0, 5, aggregation_type="sum", bucket_size_msec=4, filter_by_ts=[1, 2, 4, 5]), [(0, 4.0), (4, 17.0)])
holds(series.range("a", "-", "+", filter_by_min_value=7, filter_by_max_value=8), [(3, 7.0), (5, 8.0)])
holds(series.delete("a", 5, 5), 1)

holds(series.create("b", labels={"room": "kitchen", "type": "temp"}), True)
series.add("b", 1, 10)
holds(sorted(series.queryindex(["type=temp"])), ["a", "b"])
holds(series.mget(["type=temp"], with_labels=True), [{"a": [{"room": "study", "type": "temp"}, 4, 9.0]}, {"b": [{"room": "kitchen", "type": "temp"}, 1, 10.0]}])
holds(series.mrange("-", "+", filters=["type=temp"], count=1), [{"a": [{}, [(1, 1.5)]]}, {"b": [{}, [(1, 10.0)]]}])
holds(series.mrange("-", "+", filters=["type=temp"], groupby="type", reduce="max"), [{"type=temp": [{}, [(1, 10.0), (2, 2.5), (3, 7.0), (4, 9.0)]]}])
holds(series.mrevrange("-", "+", filters=["room=study"], count=1), [{"a": [{}, [(4, 9.0)]]}])

holds(series.create("sums"), True)
holds(series.createrule("b", "sums", "sum", 10), True)
series.madd([("b", 11, 1), ("b", 12, 2), ("b", 21, 3)])
holds(series.range("sums", "-", "+"), [(10, 3.0)])
holds(client.execute_command("TS.GET", "sums", "LATEST"), (20, 3.0))
info = series.info("b")
holds((info.total_samples, info.first_time_stamp, info.lastTimeStamp, info.retention_msecs, info.labels), (4, 1, 21, 0, {"room": "kitchen", "type": "temp"}))
holds([rule[:3] for rule in info.rules], [["sums", 10, "SUM"]])
holds(series.info("sums").source_key, "b")
holds(series.info("a").duplicate_policy, "last")
holds(series.deleterule("b", "sums"), True)
try:
    series.add("b", 1, 1)
    raise AssertionError("added")
except ResponseError:
    pass

report()
