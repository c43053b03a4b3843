"""python3-redis's API of RedisJSON against a server.

Usage: documents.py PORT. Exits with a traceback at the first failed assertion.
"""
import faulthandler
import sys
import warnings

sys.dont_write_bytecode = True
warnings.simplefilter("ignore", DeprecationWarning)  # of nummultby, which is used on purpose

import redis
from redis.commands.json.path import Path
from redis.exceptions import ResponseError

from statements import holds, report

faulthandler.dump_traceback_later(50, exit=True)
client = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
docs = client.json()

# Both path languages; the library sends texts with spaces behind commas and colons.
user = {"name": "Ada", "born": 1815, "tags": ["a", "b"], "address": {"city": "London"}, "active": True, "note": None, "größe": 1.65}
holds(docs.set("user", Path.root_path(), user), True)
holds(docs.get("user"), user)
holds(docs.get("user", "$.name"), ["Ada"])
holds(docs.get("user", Path(".address.city")), "London")
holds(docs.get("user", "$.name", "$.born"), {"$.name": ["Ada"], "$.born": [1815]})
holds(docs.set("user", "$.name", "Lovelace", nx=True), None)
holds(docs.set("user", "$.name", "Lovelace", xx=True), True)
holds(docs.set("other", "$", [1, 2], xx=True), None)
holds(docs.type("user", "$.tags"), ["array"])
holds(docs.type("user", ".born"), "integer")

holds(docs.numincrby("user", "$.born", 10), [1825])
holds(docs.nummultby("user", ".born", 2), 3650)
holds(docs.strappend("user", "!", "$.name"), [9])
holds(docs.strlen("user", "$.name"), [9])
holds(docs.toggle("user", "$.active"), [0])
holds(docs.arrappend("user", "$.tags", "c", {"d": 1}), [4])
holds(docs.arrindex("user", "$.tags", "c"), [2])
holds(docs.arrinsert("user", "$.tags", 0, "first"), [5])
holds(docs.arrlen("user", "$.tags"), [5])
holds(docs.arrpop("user", "$.tags"), ['{"d":1}'])
holds(docs.arrtrim("user", "$.tags", 0, 1), [2])
holds(docs.get("user", "$.tags"), [["first", "a"]])
holds(docs.objkeys("user", ".address"), ["city"])
holds(docs.objlen("user", "."), 7)
holds(docs.clear("user", "$.address"), 1)
holds(docs.delete("user", "$.note"), 1)
holds(docs.get("user", "$.note"), [])
holds(docs.resp("user", ".tags"), ["[", "first", "a"])
holds(docs.debug("MEMORY", "user", "$.born")[0] > 0, True)

holds(docs.set("second", "$", {"name": "Grace"}), True)
holds(docs.mget(["user", "second", "none"], "$.name"), [["Lovelace!"], ["Grace"], None])
pipe = client.json().pipeline()
pipe.set("piped", "$", {"n": 1})
pipe.get("piped")
holds(pipe.execute(), [True, {"n": 1}])
for broken in (lambda: docs.get("user", ".none"), lambda: docs.set("new", "$.a", 1), lambda: docs.get("user", "$[")):
    try:
        broken()
        raise AssertionError("accepted")
    except ResponseError:
        holds(True, True)

holds(docs.delete("user"), 1)
holds(client.exists("user"), 0)
report()
