"""Prints the predictions of a table by tritonclient: over HTTP with tensors as bytes and as JSON, or over gRPC.

Usage: client.py http|grpc HOST:PORT TABLE
"""

import csv
import importlib
import json
import sys

import numpy

protocol, address, table = sys.argv[1:]
triton = importlib.import_module("tritonclient." + protocol)
with open(table, newline="") as file:
    rows = list(csv.DictReader(file))

client = triton.InferenceServerClient(address)
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("tandem")
if protocol == "grpc":
    assert client.get_server_metadata(as_json=True)["name"] == "tandem"
    described = client.get_model_metadata("tandem", as_json=True)
else:
    described = client.get_model_metadata("tandem")
for options in [{"binary_data": True}, {"binary_data": False}] if protocol == "http" else [{}]:
    inputs = []
    for column in described["inputs"]:
        name, kind = column["name"], column["datatype"]
        if kind == "BYTES":
            values = numpy.array([[row[name].encode()] for row in rows], dtype=object)
        else:
            values = numpy.array([[row[name]] for row in rows], dtype=numpy.float32)
        tensor = triton.InferInput(name, list(values.shape), kind)
        tensor.set_data_from_numpy(values, **options)
        inputs.append(tensor)
    output = triton.InferRequestedOutput("prediction", **options)
    answer = client.infer("tandem", inputs, outputs=[output]).as_numpy("prediction")
    assert answer.shape == (len(rows), 1)
    print(json.dumps([float(p) for p in answer[:, 0]]))
