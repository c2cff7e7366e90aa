"""Serve an exported model with aiohttp and onnxruntime, on every core.

    peer.py PORT FOLDER TABLE...

FOLDER is what `model export` has written, and a TABLE is a CSV file whose texts are known beforehand: a
request costs a look-up in a dictionary for each text. Speaks what the experiment needs of the Open
Inference Protocol over HTTP. One process for each core listens on the port; a line on stdout says that all
do.
"""
import csv
import json
import os
import sys

import aiohttp
import numpy as np
import onnxruntime
from aiohttp import web

port, folder, tables = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
sys.path.insert(0, folder)
import predict  # noqa: E402, of the export

columns = json.load(open(os.path.join(folder, "columns.json")))
(rows,) = predict.all_rows(columns).values()
values = np.concatenate([rows.values, rows.zeros[None]])  # the last row is that of unknown ids
unknown = len(rows.values)


def row_of(slot, text):
    """Return the place of the row of a text."""
    (sign,) = predict.signs(slot, predict.category(text), columns["prefix_bits"])
    at = int(np.searchsorted(rows.keys, np.uint64(sign)))
    return at if at < unknown and rows.keys[at] == sign else unknown


vocabularies = []
records = []
for table in tables:
    with open(table, newline="") as file:
        records += csv.DictReader(file)
for slot in columns["slots"]:
    assert slot["fixed_size"] == 0 and slot["hash_stack_rounds"] == 0
    texts = {record[slot["name"]] for record in records}
    vocabularies.append((slot["name"], {text: row_of(slot, text) for text in texts}))
del records

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1


def serve(ready):
    """Serve requests in this process."""
    session = onnxruntime.InferenceSession(os.path.join(folder, "network.onnx"), options,
                                           providers=["CPUExecutionProvider"])

    async def infer(request):
        inputs = {t["name"]: t["data"] for t in json.loads(await request.read())["inputs"]}
        places = np.array([[known.get(text, unknown) for text in inputs[name]]
                           for name, known in vocabularies])
        given = {"embeddings": values[places.T].reshape(places.shape[1], -1)}
        if columns["numbers"]:
            given["numbers"] = np.array([inputs[name] for name in columns["numbers"]], np.float32).T
        (out,) = session.run(["prediction"], given)
        body = {"model_name": "tandem", "outputs": [{"name": "prediction", "datatype": "FP32",
                "shape": out.shape, "data": out.ravel().tolist()}]}
        return web.Response(body=json.dumps(body).encode(), content_type="application/json")

    application = web.Application(client_max_size=1 << 26)
    application.add_routes([web.post("/v2/models/tandem/infer", infer)])

    async def started(_):
        os.write(ready, b".")

    application.on_startup.append(started)
    web.run_app(application, host="127.0.0.1", port=port, reuse_port=True, access_log=None, print=None)


cores = len(os.sched_getaffinity(0))
read, write = os.pipe()
children = []
for _ in range(cores):
    child = os.fork()
    if child == 0:
        serve(write)
        os._exit(0)
    children.append(child)
started = 0
while started < cores:
    started += len(os.read(read, cores))
print(f"aiohttp {aiohttp.__version__}, onnxruntime {onnxruntime.__version__}, "
      f"Python {sys.version.split()[0]}", flush=True)
sys.stdin.read()  # until the experiment closes it
for child in children:
    os.kill(child, 15)
