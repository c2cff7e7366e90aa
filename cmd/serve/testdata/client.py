"""Prints the predictions of a table by tritonclient, with tensors as bytes and as JSON.

Usage: client.py HOST:PORT TABLE
"""

import csv
import json
import sys

import numpy
import tritonclient.http as triton

address, table = sys.argv[1:]
with open(table, newline="") as file:
    rows = list(csv.DictReader(file))

client = triton.InferenceServerClient(address)
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tandem")
described = client.get_model_metadata("tandem")
for binary in (True, False):
    inputs = []
    for column in described["inputs"]:
        name, kind = column["name"], column["datatype"]
        if kind == "BYTES":
            values = numpy.array([[row[name].encode()] for row in rows], dtype=object)
        else:
            values = numpy.array([[row[name]] for row in rows], dtype=numpy.float32)
        tensor = triton.InferInput(name, list(values.shape), kind)
        tensor.set_data_from_numpy(values, binary_data=binary)
        inputs.append(tensor)
    output = triton.InferRequestedOutput("prediction", binary_data=binary)
    answer = client.infer("tandem", inputs, outputs=[output]).as_numpy("prediction")
    assert answer.shape == (len(rows), 1)
    print(json.dumps([float(p) for p in answer[:, 0]]))
