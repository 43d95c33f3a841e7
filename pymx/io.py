"""Arrays in files: npy and npz as NumPy has them, and safetensors.

A file is given by its path, a str or os.PathLike, or as an object with `read` or `write` for bytes. Files on the disk
are opened and checked when they are loaded, and read when an array is evaluated; the contents of other objects are read
at once, from where they stand to their end. A file is replaced in one step once it is complete; if saving fails it is
as before. Damaged files are an OSError that says what is wrong, shapes beyond 63 bits a RangeError."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ._ffi import check, fast, ffi, lib
from .array import array
from .convert import to_array
from .device import StreamOrDevice
from .errors import FileError, FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, TypeAlias

__all__ = ["load", "save", "save_safetensors", "savez", "savez_compressed"]

File: TypeAlias = "str | os.PathLike[str] | IO[bytes]"

FORMATS = {"npy": 1, "npz": 2, "safetensors": 3}  # mx_format in mx/io.h


class _Archive:
    """An opened file."""

    __slots__ = ("_handle",)
    _handle: int

    def __init__(self, file: File, format: int, mmap: bool) -> None:
        self._handle = 0  # __del__ runs also when the next lines fail
        out = ffi.new("mx_archive *")
        path = _path(file)
        if path is not None:
            check(lib.mx_load(out, path, format, mmap))
        else:
            data = file.read()  # type: ignore[union-attr]
            check(lib.mx_load_memory(out, ffi.from_buffer(data), len(data), format))
        self._handle = out[0]

    def __del__(self, _free: Any = fast.archive_free) -> None:
        _free(self._handle)

    @property
    def format(self) -> int:
        return fast.archive_format(self)

    def arrays(self, stream: StreamOrDevice) -> dict[str, array]:
        return {
            fast.archive_name(self, i): fast.archive_array(self, i, stream) for i in range(fast.archive_count(self))
        }

    def metadata(self) -> dict[str, str]:
        return {
            fast.archive_metadata_key(self, i): fast.archive_metadata_value(self, i)
            for i in range(fast.archive_metadata_count(self))
        }


def _path(file: Any, extension: str = "") -> bytes | None:
    """The path as the system wants it, ending in `extension`; None for an object that is read or written."""
    if not isinstance(file, (str, os.PathLike)):
        if not hasattr(file, "write" if extension else "read"):
            raise TypeError(f"expected a path or a binary file, got {type(file).__name__}")
        return None
    path = os.fspath(file)
    path = os.fsencode(path if path.endswith(extension) else path + extension)
    if b"\0" in path:
        raise ValueError("the path holds a null character")
    return path


def _format(file: Any, format: str | None) -> int:
    """The number of the format, an mx_format; 0, by the first bytes, if neither `format` nor the name tells."""
    if format is None:
        name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else getattr(file, "name", "")
        extension = name.rpartition(".")[2] if isinstance(name, str) else ""
        return FORMATS.get(extension, 0)
    if format not in FORMATS:
        raise ValueError(f"load: unknown file format {format!r}; known are {', '.join(FORMATS)}")
    return FORMATS[format]


def load(
    file: File,
    /,
    format: str | None = None,
    return_metadata: bool = False,
    *,
    stream: StreamOrDevice = None,
    mmap: bool = False,
) -> array | dict[str, array] | tuple[dict[str, array], dict[str, Any]]:
    """The array of an npy file, or the arrays of an npz or safetensors file by name; with `return_metadata` a tuple of
    these and the metadata of a safetensors file.

    `format` is "npy", "npz" or "safetensors"; None goes by the extension, else by the first bytes. The elements are
    read when an array is evaluated, on `stream`; an error then is an OSError too. With `mmap` arrays lie in a mapping
    of the file instead: if another process truncates it meanwhile, this one dies of SIGBUS."""
    number = _format(file, format)
    try:
        archive = _Archive(file, number, mmap)
    except FileError as e:
        raise e if number else FormatError(str(e)) from None
    arrays = archive.arrays(stream)
    if return_metadata and archive.format != FORMATS["safetensors"]:
        raise ValueError("load: only safetensors files have metadata")
    if archive.format == FORMATS["npy"]:
        return arrays[""]
    return (arrays, archive.metadata()) if return_metadata else arrays


def _strings(texts: list[str]) -> tuple[Any, list[Any]]:
    """The texts as a C array, and what must be kept alive as long as it is used."""
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"names and metadata must be str, got {type(text).__name__}")
        if "\0" in text:
            raise ValueError(f"{text!r} holds a null character")
    keep = [ffi.new("char[]", text.encode()) for text in texts]
    return ffi.new("const char *[]", keep), keep


def _named(arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments `names, n_names, arrays, n_arrays` of the library, and what must be kept alive."""
    names, keep = _strings(list(arrays))
    values = [to_array(x, "save") for x in arrays.values()]
    return names, len(arrays), [x._h for x in values], len(arrays), (keep, values)


def _write(file: File, extension: str, save: Any, encode: Any, args: tuple[Any, ...]) -> None:
    path = _path(file, extension)
    if path is not None:
        check(save(path, *args))
        return
    out, size = ffi.new("mx_array *"), ffi.new("size_t *")
    check(encode(out, *args))
    try:
        check(lib.mx_array_size(size, out[0]))
        data = bytearray(size[0])
        check(lib.mx_array_read(ffi.from_buffer(data), len(data), out[0]))
    finally:
        lib.mx_array_free(out[0])
    file.write(data)  # type: ignore[union-attr]


def save(file: File, arr: array) -> None:
    """Writes an array as an npy file, the bytes that NumPy would write; bfloat16 is the dtype '<V2', as in NumPy with
    ml_dtypes. A path gets the extension .npy if it lacks it."""
    x = to_array(arr, "save")
    _write(file, ".npy", lib.mx_save_npy, lib.mx_encode_npy, (x._h,))


def _savez(file: File, args: tuple[Any, ...], kwargs: dict[str, Any], compressed: bool) -> None:
    arrays = dict(kwargs)
    for i, x in enumerate(args):
        if arrays.setdefault(f"arr_{i}", x) is not x:
            raise ValueError(f"savez: arr_{i} is the name of an argument without one")
    *named, _keep = _named(arrays)
    _write(file, ".npz", lib.mx_save_npz, lib.mx_encode_npz, (*named, compressed))


def savez(file: File, *args: Any, **kwargs: Any) -> None:
    """Writes arrays as an npz file: keyword arguments under their names, others as arr_0, arr_1, ... A path gets the
    extension .npz if it lacks it."""
    _savez(file, args, kwargs, False)


def savez_compressed(file: File, *args: Any, **kwargs: Any) -> None:
    """As savez, compressed. NotImplementedError if the library was built without zlib."""
    _savez(file, args, kwargs, True)


def save_safetensors(file: File, arrays: dict[str, array], metadata: dict[str, str] | None = None) -> None:
    """Writes arrays and metadata, texts by texts, as a safetensors file. A path gets the extension .safetensors if it
    lacks it."""
    metadata = metadata or {}
    *named, _keep = _named(arrays)
    keys, _keep_keys = _strings(list(metadata))
    values, _keep_values = _strings(list(metadata.values()))
    args = (*named, keys, len(metadata), values, len(metadata))
    _write(file, ".safetensors", lib.mx_save_safetensors, lib.mx_encode_safetensors, args)
