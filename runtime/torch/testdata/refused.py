"""Prints what tandem_worker says of classes of net.py, a line each: refused.py FOLDER NET CLASS..."""

import sys

sys.path.insert(0, sys.argv[1])
from tandem_worker import main as worker

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
        "bf16": name == "Rounded",
    }
    try:
        worker.Worker(config, None, None).describe(None)
        print("suitable")
    except BaseException as e:
        print(worker.sentence(e, file))
