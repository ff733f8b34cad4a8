# SPDX-License-Identifier: Apache-2.0
"""Arrays in a safetensors file (https://github.com/huggingface/safetensors, section Format), by numpy alone."""
import json
import math
import os

import numpy as np

from .document import parse_json
from .errors import Error

DTYPES = {"BOOL": np.uint8, "U8": np.uint8, "F32": np.float32, "F64": np.float64}
MOST_HEADER = 100_000_000                                              # bytes


def write_arrays(path, arrays):
    """arrays: by name bool (written as U8), float32 or float64, of any shape."""
    header, blobs, at = {}, [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array.astype(np.uint8) if array.dtype == bool else array)
        dtype = {np.dtype(np.uint8): "U8", np.dtype(np.float32): "F32", np.dtype(np.float64): "F64"}[array.dtype]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        blobs.append(array)
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in blobs:
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())


def read_array(path, name):
    """One array of a file. Raises Error: no such file or array, a type that is none of BOOL, U8, F32 and F64, sizes that do not fit the file."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > min(MOST_HEADER, size - 8):
                raise Error(f"{path}: expected a header of at most {min(MOST_HEADER, max(size - 8, 0))} bytes, got {length}; is this a safetensors file?")
            header = parse_json(file.read(length), f"{path}: header")
            if not isinstance(header.value, dict) or name not in header.value:
                raise Error(f"{path}: expected a tensor {name!r}, got none")
            entry = header.at(name)
            dtype = entry.at("dtype").text()
            if dtype not in DTYPES:
                entry.at("dtype").fail(f"one of {', '.join(DTYPES)}")
            shape = [int(n) for n in entry.at("shape").wholes(0, 2**40)]
            begin, end = [int(n) for n in entry.at("data_offsets").wholes(0, 2**60)] if len(list(entry.at("data_offsets").each())) == 2 else (0, -1)
            wanted = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
            if end - begin != wanted or end > size - 8 - length:
                entry.at("data_offsets").fail(f"{wanted} bytes within the file's {size - 8 - length}")
            file.seek(8 + length + begin)
            return np.frombuffer(file.read(wanted), dtype=np.dtype(DTYPES[dtype]).newbyteorder("<")).reshape(shape)
    except OSError as error:
        raise Error(f"{path}: expected a file that can be read, got: {error.strerror}") from error
