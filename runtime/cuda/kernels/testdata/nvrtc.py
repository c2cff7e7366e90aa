"""Compiles CUDA source from standard input with the NVRTC of the package nvidia-cuda-nvrtc.

    python3 nvrtc.py OPTION... <SOURCE

Prints what the compiler says, and a line for each architecture that it compiled for.
"""
import ctypes
import pathlib
import sys

import nvidia.cuda_nvrtc

ARCHITECTURES = ["sm_70", "sm_80", "sm_89", "sm_90"]

folder = pathlib.Path(list(nvidia.cuda_nvrtc.__path__)[0]) / "lib"
nvrtc = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))


def log(program):
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, text)
    return text.value.decode().strip()


source = sys.stdin.buffer.read()
for architecture in ARCHITECTURES:
    options = [f"--gpu-architecture={architecture}"] + sys.argv[1:]
    program = ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None):
        sys.exit("nvrtcCreateProgram failed")
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    failed = nvrtc.nvrtcCompileProgram(program, len(options), array)
    said = log(program)
    if said:
        print(said)
    if not failed:
        print("compiled for", architecture)
