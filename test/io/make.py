"""Writes the files that the tests of src/io read: fixtures/*, and fixtures/expected.json with what is in them.

    python3 test/io/make.py      (needs python3-numpy)

Arrays are written by NumPy itself. safetensors files are put together here from the format's description, by other code
than that under test.
"""

import io
import json
import pathlib
import struct
import zipfile

import numpy as np

OUT = pathlib.Path(__file__).with_name("fixtures")
DTYPES = {
    "bool": "?", "u8": "u1", "i32": "<i4", "u32": "<u4", "i64": "<i8", "u64": "<u8", "f16": "<f2", "f32": "<f4", "f64": "<f8",
}
expected = {}


def sample(dtype, shape):
    n = int(np.prod(shape))
    values = np.arange(n) * 37 % 101
    if np.dtype(dtype).kind == "f":
        values = (values - 50) / 3
    if np.dtype(dtype).kind == "i":
        values = values - 50
    return (values % 2 == 0 if np.dtype(dtype).kind == "b" else values).astype(dtype).reshape(shape)


def describe(name, array):
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    return {"dtype": name, "shape": list(array.shape), "hex": little.tobytes().hex()}


def save(file, name, array, version=None):
    with open(OUT / file, "wb") as f:
        np.lib.format.write_array(f, array, version=version)
    expected[file] = describe(name, array)


def main():
    OUT.mkdir(exist_ok=True)
    for name, dtype in DTYPES.items():
        save(f"{name}.npy", name, sample(dtype, (2, 3)))
        if np.dtype(dtype).itemsize > 1:
            save(f"{name}-big.npy", name, sample(dtype, (2, 3)).astype(np.dtype(dtype).newbyteorder(">")))
    save("fortran.npy", "i32", np.asfortranarray(sample("<i4", (2, 3, 4))))
    save("fortran-big.npy", "f64", np.asfortranarray(sample(">f8", (3, 2))))
    save("scalar.npy", "f32", np.array(2.5, "<f4"))
    save("vector.npy", "f64", sample("<f8", (5,)))
    save("empty.npy", "u32", np.zeros((0, 3), "<u4"))
    save("version2.npy", "f32", sample("<f4", (2, 2)), (2, 0))
    save("version3.npy", "f32", sample("<f4", (2, 2)), (3, 0))

    arrays = {"weights": sample("<f4", (4, 3)), "mask": sample("?", (7,)), "größe": np.array(3, "<i8")}
    for file, write in (("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)):
        write(OUT / file, **arrays)
        expected[file] = {k: describe({"f": "f32", "b": "bool", "i": "i64"}[a.dtype.kind], a) for k, a in arrays.items()}

    # A zip64 archive, as Python writes one that it cannot seek in.
    class Pipe(io.RawIOBase):
        def __init__(self):
            self.parts = []

        def writable(self):
            return True

        def write(self, b):
            self.parts.append(bytes(b))
            return len(b)

    pipe = Pipe()
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, arrays["weights"])
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as z, z.open("weights.npy", "w", force_zip64=True) as f:
        f.write(buffer.getvalue())
    (OUT / "streamed.npz").write_bytes(b"".join(pipe.parts))
    expected["streamed.npz"] = {"weights": describe("f32", arrays["weights"])}

    tensors = {f"{name}.x": (name, sample(dtype, (3, 2))) for name, dtype in DTYPES.items()}
    header, data = {"__metadata__": {"format": "pt", "note": "ä"}}, b""
    expected["all.safetensors"] = {}
    labels = {"bool": "BOOL", "bf16": "BF16"}
    for key, (name, array) in tensors.items():
        raw = array.tobytes()
        label = labels.get(name, name.upper())
        header[key] = {"dtype": label, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        expected["all.safetensors"][key] = describe(name, array)
        data += raw
    half = sample("<f4", (4,)).view("<u4")
    raw = (half >> 16).astype("<u2").tobytes()
    header["bf16.x"] = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [len(data), len(data) + len(raw)]}
    expected["all.safetensors"]["bf16.x"] = {"dtype": "bf16", "shape": [2, 2], "hex": raw.hex()}
    data += raw
    text = json.dumps(header).encode()
    (OUT / "all.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)

    (OUT / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
    print(f"{len(expected)} files")


main()
