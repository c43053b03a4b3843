"""python3-redis's API of RedisBloom against a server.

Usage: sketches.py PORT. Exits with a traceback at the first failed assertion. This version's t-digests have weights, which Redis 8 has not: they are requests here.
"""
import faulthandler
import sys

sys.dont_write_bytecode = True

import redis
from redis.exceptions import ResponseError

from statements import holds, report

faulthandler.dump_traceback_later(50, exit=True)
client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)

bloom = client.bf()
holds(bloom.create("bloom", 0.01, 1000), True)
holds(bloom.create("fixed", 0.01, 1000, noScale=True), True)
holds(bloom.add("bloom", "foo"), 1)
holds(bloom.madd("bloom", "foo", "bar"), [0, 1])
holds(bloom.insert("sized", ["foo"], capacity=10, error=0.001, expansion=4), [1])
holds(bloom.exists("bloom", "noexist"), 0)
holds(bloom.mexists("bloom", "foo", "noexist"), [1, 0])
info = bloom.info("bloom")
holds((info.capacity, info.filterNum, info.insertedNum, info.expansionRate), (1000, 1, 2, 2))
holds(bloom.info("fixed").expansionRate, None)
try:
    bloom.create("both", 0.01, 1000, expansion=4, noScale=True)
    raise AssertionError("created")
except ResponseError:
    pass

raw = redis.Redis(port=int(sys.argv[1]))
chunks, position = [], 0
while True:
    position, data = raw.bf().scandump("bloom", position)
    if position == 0:
        break
    chunks.append((position, data))
for position, data in chunks:
    raw.bf().loadchunk("loaded", position, data)
holds(client.execute_command("BF.DEBUG", "loaded"), client.execute_command("BF.DEBUG", "bloom"))

cuckoo = client.cf()
holds(cuckoo.create("cuckoo", 1000, bucket_size=4, max_iterations=10), True)
holds(cuckoo.add("cuckoo", "filter"), 1)
holds(cuckoo.addnx("cuckoo", "filter"), 0)
holds(cuckoo.insert("captest", ["foo"], capacity=1000), [1])
holds(cuckoo.insertnx("captest", ["foo", "bar", "baz"]), [0, 1, 1])
holds(cuckoo.count("captest", "foo"), 1)
holds(cuckoo.delete("captest", "foo"), 1)
info = cuckoo.info("captest")
holds((info.insertedNum, info.deletedNum, info.filterNum, info.bucketSize), (2, 1, 1, 2))

counts = client.cms()
holds(counts.initbydim("dim", 1000, 5), True)
holds(counts.initbyprob("prob", 0.01, 0.01), True)
holds(counts.incrby("dim", ["foo", "bar"], [5, 15]), [5, 15])
holds(counts.query("dim", "foo", "bar", "noexist"), [5, 15, 0])
info = counts.info("dim")
holds((info.width, info.depth, info.count), (1000, 5, 20))
holds(counts.initbydim("sum", 1000, 5), True)
holds(counts.merge("sum", 1, ["dim"], ["2"]), True)
holds(counts.query("sum", "foo"), [10])

top = client.topk()
holds(top.reserve("topk", 3, 50, 4, 0.9), True)
holds(top.add("topk", "A", "B", "C", "D", "E", "A", "A", "B", "C", "G", "D", "B", "D", "A", "E", "E", 1),
      [None, None, None, "A", "C", "D", None, None, "E", None, "B", "C", None, None, None, "D", None])
holds(top.query("topk", "A", "B", "C"), [1, 1, 0])
holds(top.list("topk"), ["A", "B", "E"])
holds(top.list("topk", withcount=True), ["A", 4, "B", 3, "E", 3])
info = top.info("topk")
holds((info.k, info.width, info.depth, float(info.decay)), (3, 50, 4, 0.9))

holds(client.execute_command("TDIGEST.CREATE", "digest", "COMPRESSION", 500), "OK")
holds(client.execute_command("TDIGEST.ADD", "digest", *[x * 0.01 for x in range(1, 10000)]), "OK")
digest = client.tdigest()
holds(digest.min("digest"), 0.01)
holds(digest.max("digest"), 9999 * 0.01)
plain = redis.Redis(port=int(sys.argv[1]))
holds([round(float(value), 2) for value in plain.execute_command("TDIGEST.QUANTILE", "digest", 0.01, 0.99)], [1.0, 99.0])
holds(digest.info("digest").compression, 500)

report()
