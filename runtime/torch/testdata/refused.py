"""Prints what worker.py says of classes of net.py, a line each: refused.py WORKER NET CLASS..."""

import importlib.util
import sys

spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
file = sys.argv[2]
for name in sys.argv[3:]:
    config = {
        "file": file,
        "source": open(file).read(),
        "class": name,
        "arguments": {},
        "slots": [{"name": "user", "dim": 4, "ids": 0, "width": 4}],
        "width": 4,
        "numbers": ["price"],
        "labels": ["click"],
    }
    try:
        worker.Worker(config, None, None).describe(None)
        print("suitable")
    except BaseException as e:
        print(worker.sentence(e, file))
