"""The network of one rank, for a Tandem process that starts main.

Requests come as lines of JSON from one pipe, replies go as lines of JSON to another, and numbers are in
memory that both processes map: see the comments of the Go package runtime/torch. One request is answered
after the other. The process ends when its parent does, or when a request takes longer than the limit.

    module     makes the user's module, and calls it
    trial      what it must do to be trained
    worker     requests, and the shared memory
    optimizer  steps of a torch.optim
    export     the network as ONNX
    graph      the same without values, which come from a checkpoint
    state      files with a state_dict
    refused    sentences for the user
    main       the process

The Go program has the texts of these files, and gives them to Python: see start.py.
"""
