"""NumPy, PyTorch and CuPy arrays alike: rows in blocks, and products near the device's limit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from densray._files import release_pages
from densray.errors import Advice, Argument, DensRayError, DeviceMemoryError, LabelError, VectorError, shorten

#: A NumPy, PyTorch or CuPy array (or any other that follows the array API standard).
Array: TypeAlias = Any


#: Rows handled at once: large enough for a matrix product to run at full speed, small enough to stay in cache.
BLOCK_ROWS = 16_384
#: Entries handled at once on a device, where starting a product costs more than its memory: 1 GiB of float32.
DEVICE_BLOCK_ENTRIES = 2**28
#: The same for rows that are converted: a block and its copies take about 0.3 GB.
CONVERTED_BLOCK_ENTRIES = 3 * 2**24
#: Rows below which smaller blocks do not help a device that is out of memory.
FEWEST_BLOCK_ROWS = 1024

#: Columns of the narrowest part of a symmetric product that a device computes at full speed.
PART_COLUMNS = 256

#: Rows that a processor adds one after the other without losing digits of float32.
SUMMED_AT_ONCE = 2048
#: Rows of which a GPU adds some multiples as fast as it reads them, if there are so many times more in all.
SUMMED_ON_DEVICE, TIMES_MORE = 2**16, 32

#: Types of two bytes, kept but never multiplied in.
HALF_TYPES = ("float16", "bfloat16")


Part = TypeVar("Part")
_NAMESPACES: dict[type, Any] = {}  # by kind of array: asked for many times in a fit


def type_name(array: object) -> str:
    """Return the name of an array's type of number, the same for every library; empty if it has none."""
    return str(getattr(array, "dtype", "")).removeprefix("torch.")


class ConvertedRows:
    """Rows whose blocks are converted when they are read: of the whole only what was given is ever held.

    Attributes
    ----------
    source : array of shape (n, d)
        The rows as they were given.
    dtype : type
        What a block is converted to.
    out : type
        What rows made of these are returned in.
    change : callable, optional
        What else is done to a block, such as scaling its columns.
    """

    ndim = 2

    def __init__(
        self,
        source: Array,
        dtype: object,
        out: object,
        change: Callable[[Array], Array] | None = None,
    ) -> None:
        of_numpy = isinstance(source, np.ndarray)
        self.source, self.out, self.change = source, out, change
        self.dtype: Any = np.dtype(dtype) if of_numpy else dtype  # type: ignore[call-overload]
        self.shape: tuple[int, int] = tuple(source.shape)
        self.device = getattr(source, "device", "cpu")

    def __getitem__(self, key: Any) -> Array:
        convert = namespace(self.source).astype
        if self.change is None:
            return convert(self.source[key], self.dtype, copy=False)
        return self.change(convert(self.source[key[0], :], self.dtype))[:, key[1]]

    def take(self, index: Array) -> ConvertedRows:
        """Return the rows at these places, not converted yet."""
        return self._of(take_rows(self.source, index))

    def part(self, block: slice) -> ConvertedRows:
        """Return a block of rows, not converted yet."""
        return self._of(self.source[block, :])

    def _of(self, source: Array) -> ConvertedRows:
        return ConvertedRows(source, self.dtype, self.out, self.change)


def given_rows(X: Array) -> Array:
    """Return rows as they were given, in the type they came in."""
    return X.source if isinstance(X, ConvertedRows) else X


def unconverted_rows(X: Array) -> Array:
    """Return rows as given where nothing but their type was to change, else all of them changed."""
    return X.source if isinstance(X, ConvertedRows) and X.change is None else whole_rows(X)


def whole_rows(X: Array) -> Array:
    """Return rows as one array that can be multiplied, for methods that need all of them at once."""
    return X[:, :] if isinstance(X, ConvertedRows) else X


def take_rows(X: Array, index: Array) -> Array:
    """Return the rows at these places; those that are converted by blocks still are."""
    if isinstance(X, ConvertedRows):
        return X.take(index)
    return X.index_select(0, index) if _is_torch(X) else namespace(X).take(X, index, axis=0)


def part_of_rows(X: Array, block: slice) -> Array:
    """Return a block of rows; those that are converted when they are read still are."""
    return X.part(block) if isinstance(X, ConvertedRows) else X[block, :]


def is_foreign(array: object) -> bool:
    """Return whether an array lives outside NumPy: a torch tensor, a CuPy array, any array-API array."""
    if isinstance(array, ConvertedRows):
        return is_foreign(array.source)
    if isinstance(array, np.ndarray | np.generic | list | tuple):
        return False
    return hasattr(array, "__array_namespace__") or _is_torch(array) or _is_cupy(array)


def check_unmasked(array: object, name: str, error: type[DensRayError]) -> None:
    """Raise for a masked array: everything after this would ignore its mask."""
    if isinstance(array, np.ma.MaskedArray):
        raise error(
            f"{name} is a masked array, and its mask would be ignored. Drop the masked rows, or put numbers in their "
            f"place with {name}.filled()."
        )


def float_rows(X: Any) -> Any:
    """Return vectors as an array of floating-point numbers of at most 64 bits; what cannot be one is refused."""
    check_unmasked(X, "X", VectorError)
    xp = namespace(X)
    if xp is not np:
        return X if xp.isdtype(X.dtype, ("real floating", "complex floating")) else xp.astype(X, xp.float64)
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
        if type_name(array) in HALF_TYPES:  # bfloat16 of ml_dtypes has no kind of its own
            return array
        if array.dtype.kind not in "fiubO":
            raise TypeError(f"they are {array.dtype}")
        return array if array.dtype.kind == "f" and array.dtype.itemsize <= 8 else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise VectorError(f"X is not a table of numbers ({shorten(error)}). Give one vector per row.") from error


def label_array(y: Any) -> Array:
    """Return labels as an array, where they lie.

    Refused: lists of unequal length, masked arrays, text next to numbers, dates and records.
    """
    check_unmasked(y, "y", LabelError)
    if is_foreign(y):
        return y
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise LabelError(f"y is not one label per row ({shorten(error)}). Pass one label or score per row.") from error
    if labels.dtype.kind in _NO_LABELS:
        raise LabelError(f"y holds {_NO_LABELS[labels.dtype.kind]}. Use one real label or score per row.")
    if isinstance(y, (list, tuple)) and labels.dtype.kind in "US":
        other = next((label for label in y if not isinstance(label, (str, bytes))), None)
        if other is not None:
            raise LabelError(f"y holds text and {shorten(other)}, of another type. Use numbers or text, not both.")
    return labels


_NO_LABELS = {
    "M": "dates; turn them into numbers first, such as years",
    "m": "durations; turn them into numbers first, such as seconds",
    "V": "records of several fields",
}


def is_missing(value: object) -> bool:
    """Return whether a value stands for no value: None, NaN, NaT or pandas.NA.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "", "nan")]
    [True, True, True, False, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def is_dask(array: object) -> bool:
    """Return whether something is a Dask collection: an array, a dataframe, a series."""
    return hasattr(type(array), "__dask_graph__")


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace the arrays share, NumPy itself for NumPy arrays and lists."""
    foreign = [given_rows(array) for array in arrays if is_foreign(array)]
    if not foreign:
        return np
    if len(foreign) == 1 and type(foreign[0]) in _NAMESPACES:
        return _NAMESPACES[type(foreign[0])]
    from array_api_compat import array_namespace, device

    libraries = sorted({type(array).__module__.partition(".")[0] for array in foreign})
    if len(libraries) > 1:
        raise VectorError(f"arrays come from different libraries ({', '.join(libraries)}); all must come from one.")
    devices = {str(device(array)) for array in foreign}
    if len(devices) > 1:
        raise VectorError(
            f"arrays lie on different devices ({', '.join(sorted(devices))}); all must share one. "
            "Move them with .to(device)."
        )
    return _NAMESPACES.setdefault(type(foreign[0]), array_namespace(*foreign))


def array_on(values: object, like: Array, *, dtype: object = None) -> Array:
    """Return `values` as an array of the same kind, on the same device, as `like`."""
    if not is_foreign(like):
        return np.asarray(values, dtype=dtype)  # type: ignore[call-overload]
    from array_api_compat import device

    xp = namespace(like)
    return xp.asarray(values, dtype=dtype, device=device(given_rows(like)))


def move(matrix: NDArray[Any], like: Array) -> Array:
    """Return a host matrix with the kind, device and precision of `like`."""
    return array_on(matrix, like, dtype=like.dtype)


def float64_like(values: Array, rows: Array) -> Array:
    """Return per-row values as float64, in the array library and on the device of `rows`, copied only where needed."""
    return array_on(values, rows, dtype=namespace(rows, values).float64) if is_foreign(rows) else to_host(values)


def assign(matrix: Array, rows: Array, columns: Array, value: float) -> None:
    """Set the entries of a matrix at these rows and columns, in place: in every library, but not in the standard."""
    places = [array_on(place, matrix) for place in (rows, columns)]
    try:
        matrix[places[0], places[1]] = value
    except IndexError:  # a library that keeps to the letter of the standard
        for row, column in zip(*places, strict=True):
            matrix[int(row), int(column)] = value


def distinct_labels(labels: Array) -> NDArray[Any]:
    """Return the distinct labels in order; of more than two numbers, three: nothing is sorted."""
    if not is_foreign(labels) and labels.dtype.kind not in "fiu":
        return np.unique(labels)
    if labels.shape[0] == 0:
        return np.array([])
    xp = namespace(labels)
    low, high = xp.min(labels), xp.max(labels)
    next_to_highest = xp.max(xp.where(labels < high, labels, low))
    return np.unique(to_host(xp.stack([low, high, next_to_highest])))  # a device is asked once


def to_host(array: Array) -> NDArray[Any]:
    """Return an array as a NumPy array; meant for d × d matrices, never for the rows."""
    array = whole_rows(array)
    if isinstance(array, np.ndarray):
        return array
    if _is_torch(array):
        array = array.float() if type_name(array) == "bfloat16" else array  # NumPy has no such type
        host: NDArray[Any] = array.detach().cpu().numpy()
        return host
    if _is_cupy(array):
        return np.asarray(array.get())
    return np.asarray(array)


def is_tensor(array: object) -> bool:
    """Return whether rows are a PyTorch or CuPy array, which know more than the standard."""
    array = given_rows(array)
    return _is_torch(array) or _is_cupy(array)


def summed_product(factors: Array, rows: Array) -> Array:
    """Return factors times rows in float64; a processor adds some thousand products at most in the rows' precision."""
    xp, count = namespace(rows), int(rows.shape[0])
    on_gpu = _is_cupy(rows) or getattr(rows, "is_cuda", False)
    if on_gpu and count >= TIMES_MORE * SUMMED_ON_DEVICE:
        return product_in_one_read(factors, rows, SUMMED_ON_DEVICE)
    if on_gpu or count <= SUMMED_AT_ONCE:  # a GPU adds in a tree
        return xp.astype(factors @ rows, xp.float64)
    parts = (factors[:, block] @ rows[block, :] for block in blocks_of(count, SUMMED_AT_ONCE))
    return sum(xp.astype(part, xp.float64) for part in parts)


def product_in_one_read(factors: Array, rows: Array, size: int) -> Array:
    """Return a few factors times many rows in float64, as a batch of products of `size` rows each."""
    xp, whole = namespace(rows), rows.shape[0] // size * size
    left = xp.permute_dims(factors[:, :whole].reshape(factors.shape[0], -1, size), (1, 0, 2))
    total = xp.sum(left @ rows[:whole].reshape(-1, size, rows.shape[1]), axis=0, dtype=xp.float64)
    return total if whole == rows.shape[0] else total + xp.astype(factors[:, whole:] @ rows[whole:], xp.float64)


def column_sums(rows: Array) -> Array:
    """Return the sum of all rows, in float64."""
    one = namespace(rows).ones((1, rows.shape[0]), dtype=rows.dtype, device=rows.device)
    return summed_product(one, rows)[0, :]


def scatter_parts(rows: Array) -> list[Array]:
    """Return XᵀX as parts of its rows, each from the diagonal on: what lies below is the same, and is not computed.

    Processors and CuPy make the whole product, in one part.
    """
    width = int(rows.shape[1])
    count = min(4, width // PART_COLUMNS) if is_foreign(rows) and not _is_cupy(rows) else 1  # CuPy copies columns
    ends = np.linspace(0, width, max(count, 1) + 1).astype(int).tolist()
    return [rows[:, begin:end].T @ rows[:, begin:] for begin, end in pairwise(ends)]


def joined_scatter(parts: list[Array]) -> Array:
    """Return the symmetric matrix that `scatter_parts` are of."""
    if len(parts) == 1:
        return parts[0]
    xp, width, begin = namespace(parts[0]), int(parts[0].shape[1]), 0
    whole = xp.empty((width, width), dtype=parts[0].dtype, device=parts[0].device)
    for part in parts:
        end = begin + int(part.shape[0])
        whole[begin:end, begin:] = part
        whole[end:, begin:end] = part[:, end - begin :].T
        begin = end
    return whole


def symmetric_eigh(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns, where it lies."""
    values, vectors = np.linalg.eigh(A) if isinstance(A, np.ndarray) else namespace(A).linalg.eigh(A)
    return values, vectors


def _is_torch(array: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _is_cupy(array: object) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def block_rows(X: Array) -> int:
    """Return how many rows of `X` to handle at once."""
    if not is_foreign(X):
        return BLOCK_ROWS
    if not isinstance(X, ConvertedRows):
        return max(1, DEVICE_BLOCK_ENTRIES // int(X.shape[1]))
    return max(1, CONVERTED_BLOCK_ENTRIES // int(X.shape[1]))


def in_blocks(
    X: Array, act: Callable[[slice], Part], *, n_rows: int | None = None, at_once: int | None = None
) -> Iterator[Part]:
    """Yield what `act` returns for each block of rows; a device that runs out of memory gets smaller ones.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, whose width and place say how many to take at once.
    act : callable
        Takes a slice.
    n_rows : int, optional
        How many rows the slices cover; absent: all of `X`.
    at_once : int, optional
        Rows of a block while memory lasts; absent: :func:`block_rows`.
    """
    total = int(X.shape[0]) if n_rows is None else n_rows
    size, start = at_once or block_rows(X), 0
    while start < total:
        block = slice(start, min(start + size, total))
        try:
            part = act(block)
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryError":  # PyTorch's and CuPy's
                raise
            if size <= FEWEST_BLOCK_ROWS:
                raise DeviceMemoryError(
                    f"the device of X has too little memory for {block.stop - block.start:,} rows of width "
                    f"{X.shape[1]:,} at a time, beside what it holds. Free some of it, or pass fewer rows at a time "
                    "(partial_fit, densray.scale.fit_blocks)."
                ) from error
            size = max(FEWEST_BLOCK_ROWS, size // 4)
            continue
        yield part
        if getattr(given_rows(X), "base", None) is not None:  # an array without one owns its memory: no file is mapped
            release_pages(given_rows(X))
        start = block.stop


def map_rows(
    X: Array, act: Callable[[Array], Array], width: int, *, check: Callable[[Array, slice], None] | None = None
) -> Array:
    """Return the rows that `act` makes of `X`, `width` numbers each, in the type that was given.

    Rows that are converted by blocks are made block by block; a number that does not fit into float16 again is an
    error. `check` sees what was made of each block before.
    """
    if not isinstance(X, ConvertedRows):
        made = act(X)
        if check is not None:
            check(made, slice(0, int(X.shape[0])))
        return made
    xp = namespace(X)
    out = xp.empty((X.shape[0], width), dtype=X.out, device=X.device)

    def of_block(block: slice) -> None:
        made = act(X[block, :])
        if check is not None:
            check(made, block)
        with np.errstate(over="ignore"):
            out[block, :] = xp.astype(made, X.out)
        if type_name(out) == "float16":
            beyond = xp.nonzero(~xp.all(xp.isfinite(out[block, :]), axis=1))[0]
            if beyond.shape[0]:
                raise VectorError(
                    f"row {block.start + int(beyond[0])} of the result has a number beyond 65,504, the largest of "
                    "float16.",
                    Advice(" Convert X to float32, or set ", Argument("precision", "float32"), ", which returns it."),
                )

    for _ in in_blocks(X, of_block):
        pass
    return out


def product(X: Array, matrix: Array) -> Array:
    """Return the rows times a matrix; of rows that are converted by blocks, in the type they are converted to."""
    if not isinstance(X, ConvertedRows):
        return X @ matrix
    parts = list(in_blocks(X, lambda block: X[block, :] @ matrix))
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts)


def blocks_of(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover `n_rows` rows, `size` at a time."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
