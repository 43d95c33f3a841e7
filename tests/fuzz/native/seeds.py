"""Writes files for fuzz_load to start from: small valid ones of every kind, as NumPy and safetensors write them. The
first byte tells the fuzzer the format. usage: seeds.py FOLDER"""

import io
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save

ANY, NPY, NPZ, SAFETENSORS = range(4)
ARRAYS = {
    "floats": np.arange(6, dtype=np.float32).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
    "scalar": np.array(True),
    "empty": np.zeros((0, 4), np.complex64),
}


def seeds() -> dict[str, bytes]:
    found = {}
    for name, x in ARRAYS.items():
        file = io.BytesIO()
        np.save(file, x)
        found[f"{name}.npy"] = bytes([NPY]) + file.getvalue()
    for name, write in {"plain": np.savez, "deflated": np.savez_compressed}.items():
        file = io.BytesIO()
        write(file, **ARRAYS)
        found[f"{name}.npz"] = bytes([NPZ]) + file.getvalue()
    tensors = {
        name: np.ascontiguousarray(x, x.dtype.newbyteorder("=")) for name, x in ARRAYS.items() if name != "empty"
    }
    found["x.safetensors"] = bytes([SAFETENSORS]) + save(tensors, metadata={"format": "np", "é": '"'})
    found["any.safetensors"] = bytes([ANY]) + save({"b": np.zeros(3, np.float16)})
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds().items():
        (folder / name).write_bytes(content)
