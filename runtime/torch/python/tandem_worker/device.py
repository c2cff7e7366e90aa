"""Where a module is computed: on the processors, whose memory Tandem shares, or on a GPU, with copies."""

import os

from .refused import Refused


class Device:
    """The device of a process. On the processors without a name nothing is copied."""

    def __init__(self, torch, names):
        self.torch, self.names = torch, names
        self.apart = bool(names)  # values are copied to the device and back
        if any(name.startswith("cuda") for name in names):
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for the same bits every time
            if not torch.cuda.is_available():
                raise Refused(f"model.device = {names[0]}: this torch ({torch.__version__}) finds no GPU "
                              "that it can use; install a torch with CUDA, or set model.device to cpu")
            count = torch.cuda.device_count()
            if names == ["cuda"]:
                self.names = [f"cuda:{i}" for i in range(count)]
            absent = [name for name in self.names if int(name.partition(":")[2]) >= count]
            if absent:
                raise Refused(f"model.device names {absent[0]}, and there are {count} GPUs, from cuda:0 on")
        self.of_rank(0)

    def of_rank(self, rank):
        """Is the device of a rank from now on: ranks take the devices in turn."""
        self.own = self.torch.device(self.names[rank % len(self.names)] if self.names else "cpu")

    def said(self):
        """Returns the name of a GPU, after a comma, or nothing."""
        return f", {self.torch.cuda.get_device_name(self.own)}" if self.on_gpu() else ""

    def on_gpu(self):
        return self.own.type == "cuda"

    def pin(self, values):
        """Lets a GPU read and write memory that is shared at full speed. Without that, it is only slower."""
        if self.on_gpu():
            self.torch.cuda.cudart().cudaHostRegister(values.data_ptr(), 4 * values.numel(), 0)

    def precise(self, tf32):
        """Rounds the operands of products in fp32 to tf32, or does not."""
        if self.on_gpu():
            self.torch.set_float32_matmul_precision("high" if tf32 else "highest")
            self.torch.backends.cudnn.allow_tf32 = tf32

    def seed(self, seed):
        """Seeds the generator that a forward pass draws from: that of this device alone, as it takes no
        time."""
        self.generator().manual_seed(seed)

    def random_state(self):
        return self.generator().get_state()

    def set_random_state(self, state):
        self.generator().set_state(state)

    def generator(self):
        torch = self.torch
        if not self.on_gpu():
            return torch.default_generator
        torch.cuda.init()  # makes the generators
        return torch.cuda.default_generators[self.own.index]
