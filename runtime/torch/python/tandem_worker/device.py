"""Where a module is computed: on the processors, whose memory Tandem shares, or on a GPU, with copies."""

import os

from .refused import Refused


class Device:
    """The device of a process. Without names it is the processors, and nothing is copied."""

    def __init__(self, torch, names, rank):
        self.torch, self.names = torch, names
        self.copies = bool(names)  # values are copied to the device and back
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
        self.use_rank(rank)
        self.set_tf32(False)
        # Few operators of the processors lack the same bits every time; many of a GPU do.
        torch.use_deterministic_algorithms(True, warn_only=not self.on_gpu())

    def use_rank(self, rank):
        """Selects the device of a rank: ranks take the devices in turn."""
        self.own = self.torch.device(self.names[rank % len(self.names)] if self.names else "cpu")
        if self.on_gpu():
            self.torch.cuda.set_device(self.own)

    def suffix(self):
        """Returns the name of a GPU, after a comma, or nothing."""
        return f", {self.torch.cuda.get_device_name(self.own)}" if self.on_gpu() else ""

    def on_gpu(self):
        return self.own.type == "cuda"

    def pin(self, values):
        """Lets a GPU read and write memory that is shared at full speed."""
        if not self.on_gpu():
            return
        torch = self.torch
        failed = int(torch.cuda.cudart().cudaHostRegister(values.data_ptr(), 4 * values.numel(), 0))
        if failed:
            print(f"copies to {self.own} are slower: its driver does not pin {4 * values.numel()} bytes of "
                  f"shared memory (error {failed} of CUDA)")
            try:  # takes the error, which the next kernel would raise as its own
                torch.zeros(1, device=self.own)
            except RuntimeError:
                pass

    def set_tf32(self, tf32):
        """Sets whether products in fp32 round their operands to tf32."""
        if self.on_gpu():
            self.torch.set_float32_matmul_precision("high" if tf32 else "highest")
            self.torch.backends.cudnn.allow_tf32 = tf32

    def seed(self, seed):
        """Seeds the generators that a forward pass may draw from, and no other, as it takes no time."""
        for generator in self.generators():
            generator.manual_seed(seed)

    def random_state(self):
        return self.torch.cat([generator.get_state() for generator in self.generators()])

    def set_random_state(self, state):
        for generator in self.generators():
            size = generator.get_state().numel()
            generator.set_state(state[:size])
            state = state[size:]

    def generators(self):
        """Returns that of the processors and that of the GPU."""
        torch = self.torch
        if not self.on_gpu():
            return [torch.default_generator]
        torch.cuda.init()  # makes the generators
        return [torch.default_generator, torch.cuda.default_generators[self.own.index]]
