"""Tensor files in the formats of other programs: .npy and .safetensors."""
import json
import struct

NPY_CODES = {"<f8": "<%dd", "<f4": "<%df", ">f4": ">%df", "<f2": "<%de", ">f8": ">%dd", "<i8": "<%dq", "<i4": "<%di", "<u2": "<%dH"}


def npy(rows, descr="<f8", fortran=False):
    """The bytes of a .npy file with one matrix, given as a list of rows."""
    order = zip(*rows) if fortran else rows
    flat = [x for line in order for x in line]
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(NPY_CODES[descr] % len(flat), *flat)


def entry_bytes(values, dtype):
    if dtype == "BF16":
        return b"".join(struct.pack("<f", x)[2:] for x in values)
    return struct.pack({"F64": "<%dd", "F32": "<%df", "F16": "<%de", "I64": "<%dq", "I32": "<%di", "I8": "<%db", "U8": "<%dB", "F8_E4M3": "<%dB", "F4": "<%dB"}[dtype] % len(values), *values)


def rounded(values, dtype):
    """The values after they were stored as dtype and read back."""
    raw = entry_bytes(values, dtype)
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
    return list(struct.unpack({"F64": "<%dd", "F32": "<%df", "F16": "<%de"}[dtype] % len(values), raw))


def recording(layers, tensors, not_seen=None, format="ranklab.recording/2"):
    """A recording as python/ranklab/record.py writes it. `layers` are the entries of its metadata."""
    return safetensors(tensors, {"format": format, "layers": json.dumps(layers), "not_seen": json.dumps(not_seen or {})})


def safetensors(tensors, metadata=None):
    """The bytes of a .safetensors file. `tensors` is {name: (shape, values)}, stored as F32, or {name: (shape, values, dtype)}."""
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, (shape, values, *dtype) in tensors.items():
        dtype = dtype[0] if dtype else "F32"
        raw = entry_bytes(values, dtype)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def write_pairs(test, pairs, folder=""):
    """Writes activations and gradients, {name: (rows of A, rows of G)}, as two archives of F64, and returns the words that name them."""
    for i, file in enumerate(("a", "g")):
        test.write(f"{folder}{file}.safetensors", safetensors({name: ([len(both[i]), len(both[i][0])], [x for row in both[i] for x in row], "F64")
                                                               for name, both in pairs.items()}))
    return ["--activations", f"{folder}a.safetensors", "--gradients", f"{folder}g.safetensors"]
