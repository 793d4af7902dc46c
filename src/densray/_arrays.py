"""NumPy, PyTorch and CuPy arrays alike: rows in blocks, and products near the device's limit."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from densray._files import release_pages
from densray.errors import (
    Advice,
    Argument,
    DensRayError,
    DeviceMemoryError,
    LabelError,
    MissingExtraError,
    VectorError,
    shorten,
)

#: As in pyproject.toml, which cannot be read where the library is installed.
_LEAST_NUMPY = "2.2"


def check_numpy(version: str) -> None:
    """Raise for a version of NumPy that is too old; installing another package may have replaced a newer one.

    >>> check_numpy("1.26.4")
    Traceback (most recent call last):
    densray.errors.MissingExtraError: numpy 1.26.4 is installed; densray needs 2.2 or later. Run: pip install ...
    """
    if tuple(map(int, version.split(".")[:2])) < tuple(map(int, _LEAST_NUMPY.split("."))):
        raise MissingExtraError(  # an ImportError, as it is raised on import
            f"numpy {version} is installed; densray needs {_LEAST_NUMPY} or later. Run: pip install "
            f"'numpy>={_LEAST_NUMPY}'. If another package needs the older one, give each its own environment."
        )


check_numpy(np.__version__)

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

#: Rows that a processor can add up in float32 without losing precision.
SUMMED_AT_ONCE = 2048
#: Batch size for sums on a GPU, used when there are at least TIMES_MORE times as many rows.
SUMMED_ON_DEVICE, TIMES_MORE = 2**16, 32

#: Two-byte types: accepted as input, but products are computed in a wider type.
HALF_TYPES = ("float16", "bfloat16")


Part = TypeVar("Part")
_NAMESPACES: dict[type, Any] = {}  # cached by array type: looked up many times in a fit


def type_name(array: object) -> str:
    """Return the name of an array's dtype, the same for every library; empty if it has none."""
    return str(getattr(array, "dtype", "")).removeprefix("torch.")


def first_vanished(numbers: Any, rounded: NDArray[np.float32]) -> int | None:
    """Return the first row that became zero when its numbers were rounded to float32; None if there is none.

    >>> numbers = np.array([[1.0, 0.0], [0.0, 0.0], [1e-60, 0.0]])
    >>> first_vanished(numbers, numbers.astype(np.float32))
    2
    """
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize <= 4:
        return None
    zero = np.flatnonzero(~rounded.any(axis=1))
    vanished = zero[np.asarray(numbers[zero]).any(axis=1)]
    return int(vanished[0]) if vanished.size else None


class ConvertedRows:
    """Rows that are converted block by block as they are read, without a converted copy of all of them.

    Attributes
    ----------
    source : array of shape (n, d)
        The original rows.
    dtype : type
        Type that a block is converted to.
    out : type
        Type of the rows that are returned.
    change : callable, optional
        Further change of a block, such as scaling its columns.
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
        """Return the rows at these positions, not converted yet."""
        return self._of(take_rows(self.source, index))

    def part(self, block: slice) -> ConvertedRows:
        """Return a block of rows, not converted yet."""
        return self._of(self.source[block, :])

    def _of(self, source: Array) -> ConvertedRows:
        return ConvertedRows(source, self.dtype, self.out, self.change)


def given_rows(X: Array) -> Array:
    """Return the original rows, in their original type."""
    return X.source if isinstance(X, ConvertedRows) else X


def unconverted_rows(X: Array) -> Array:
    """Return the original rows if a conversion would only change their type, otherwise the converted rows."""
    return X.source if isinstance(X, ConvertedRows) and X.change is None else whole_rows(X)


def whole_rows(X: Array) -> Array:
    """Return rows as one array that can be multiplied, for methods that need all of them at once."""
    return X[:, :] if isinstance(X, ConvertedRows) else X


def take_rows(X: Array, index: Array) -> Array:
    """Return the rows at these positions; rows that are converted block by block stay unconverted."""
    if isinstance(X, ConvertedRows):
        return X.take(index)
    return X.index_select(0, index) if _is_torch(X) else namespace(X).take(X, index, axis=0)


def part_of_rows(X: Array, block: slice) -> Array:
    """Return a block of rows; rows that are converted block by block stay unconverted."""
    return X.part(block) if isinstance(X, ConvertedRows) else X[block, :]


def is_foreign(array: object) -> bool:
    """Return whether an array lives outside NumPy: a torch tensor, a CuPy array, any array-API array."""
    if isinstance(array, ConvertedRows):
        return is_foreign(array.source)
    if isinstance(array, np.ndarray | np.generic | list | tuple):
        return False
    return hasattr(array, "__array_namespace__") or _is_torch(array) or _is_cupy(array)


def check_unmasked(array: object, name: str, error: type[DensRayError]) -> None:
    """Raise for a masked array, because later steps would ignore its mask."""
    if isinstance(array, np.ma.MaskedArray):
        raise error(
            f"{name} is a masked array, and its mask would be ignored. Drop the masked rows, or fill them with "
            f"numbers: {name}.filled()."
        )


def check_dense(array: object, name: str) -> None:
    """Raise for a sparse matrix, which NumPy would take for a single object."""
    if callable(getattr(array, "toarray", None)) and hasattr(array, "nnz"):
        raise VectorError(
            f"{name} is a sparse {type(array).__name__}; dense vectors are needed. Pass {name}.toarray()."
        )


def stacked_rows(X: Any) -> Any:
    """Return a column of vectors as a matrix; any other argument unchanged.

    The column may be a series, an array of lists, or the only column of a frame. The error for a missing vector, or one
    of another length, names its row.

    >>> column = np.empty(2, dtype=object)
    >>> column[:] = [[1.0, 0.5], [-1.0, 0.5]]
    >>> stacked_rows(column).shape
    (2, 2)
    """
    if type(X).__name__ == "DataFrame" and np.shape(X)[1:] == (1,):
        stacked = stacked_rows(X[X.columns[0]])
        return stacked if isinstance(stacked, np.ndarray) and stacked.ndim == 2 else X
    if not isinstance(X, np.ndarray) and type(X).__name__ != "Series":
        return X
    column = np.asarray(X)
    if column.dtype.kind != "O" or column.ndim != 1:
        return X if column.ndim == 1 else column
    width = next((len(cell) for cell in column if isinstance(cell, list | tuple | np.ndarray)), None)
    if width is None:
        return X
    for row, cell in enumerate(column):
        if is_missing(cell):
            raise VectorError(f"the vector of row {row} (counted from 0) is missing. Drop the row.")
        is_vector = isinstance(cell, list | tuple | np.ndarray)
        if not is_vector or len(cell) != width:
            given = f"a vector of {len(cell)} numbers" if is_vector else shorten(cell)
            raise VectorError(
                f"row {row} (counted from 0) has {given}, and an earlier row a vector of {width} numbers. All vectors "
                "need the same length."
            )
    return np.stack(list(column))


def float_rows(X: Any) -> Any:
    """Return vectors as a floating-point array of at most 64 bits; raise an error if that is not possible."""
    check_unmasked(X, "X", VectorError)
    check_dense(X, "X")
    X = stacked_rows(X)
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


def without_gradient(array: Any) -> Any:
    """Return a tensor that records no operations; any other array as it is."""
    return array.detach() if getattr(array, "requires_grad", False) else array


def own_rows(array: Any, given: Any) -> Any:
    """Return an array that does not change with the one that was given: a copy, unless that one cannot change.

    >>> given = np.zeros((2, 3))
    >>> np.may_share_memory(own_rows(given, given), given)
    False
    """
    if not isinstance(array, np.ndarray):
        return namespace(array).asarray(without_gradient(array), copy=True)
    fixed = not array.flags.writeable or isinstance(array, np.memmap)
    return array if fixed or not _shares_memory(array, given) else array.copy(order="K")


def _shares_memory(array: NDArray[Any], given: Any) -> bool:
    return array is given or np.may_share_memory(array, np.asarray(given))


def label_array(y: Any) -> Array:
    """Return labels as an array, on their own device.

    Refused: lists of unequal length, masked arrays, text mixed with numbers, dates and records.
    """
    check_unmasked(y, "y", LabelError)
    if is_foreign(y):
        return y
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise LabelError(f"y is not one label per row ({shorten(error)}). Pass one label per row.") from error
    if labels.dtype.kind in _NO_LABELS:
        raise LabelError(f"y holds {_NO_LABELS[labels.dtype.kind]}. Use one real label per row.")
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
    """Return whether a value marks a missing value: None, NaN, NaT or pandas.NA.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "", "nan")]
    [True, True, True, False, False, False]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


#: Texts that mark a missing value; #NV is what Excel writes in German, k.A. stands for "keine Angabe" (no answer).
MISSING_TEXTS = ("", "na", "n/a", "n.a.", "n. a.", "k.a.", "k. a.", "nan", "null", "#n/a", "#nv")
#: Signs that mark a missing number. Among texts they may be labels.
MISSING_SIGNS = ("-", "--", "---", "–", "—", ".", "?")


def is_no_label(label: object) -> bool:
    """Return whether a label, or the name of a group, is missing: empty, NA, k.A., NaN, null or None.

    >>> [is_no_label(label) for label in (" ", "NA", "k.A.", float("nan"), None, "0", "unknown")]
    [True, True, True, True, True, False, False]
    """
    return label.strip().lower() in MISSING_TEXTS if isinstance(label, str) else is_missing(label)


def is_no_number(text: str) -> bool:
    """Return whether a text in a column of numbers marks a missing one: as a label, or by a dash, ``.`` or ``?``.

    >>> [is_no_number(text) for text in ("", "k.A.", "-", "?", "0", "-1")]
    [True, True, True, True, False, False]
    """
    return is_no_label(text) or text.strip() in MISSING_SIGNS


def category(cell: Any) -> Any:
    """Return a cell as the name of a class or group: text as people read it, None if missing, other values unchanged.

    One text has one name, however its letters are stored (ü is one character, or u with a mark, as on a Mac) and
    whatever spaces surround it.

    >>> category(" Gru\u0308ne ") == category("Gr\u00fcne"), category("NA"), category(2020)
    (True, None, 2020)
    """
    if is_no_label(cell):
        return None
    return unicodedata.normalize("NFC", cell).strip() if isinstance(cell, str) else cell


def is_dask(array: object) -> bool:
    """Return whether something is a Dask collection: an array, a dataframe, a series."""
    return hasattr(type(array), "__dask_graph__")


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace that the arrays share; NumPy itself for NumPy arrays and lists."""
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
            f"arrays are on different devices ({', '.join(sorted(devices))}); all must be on one. Move them with "
            ".to(device)."
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
    """Set the entries of a matrix at these rows and columns, in place; the array API has no such indexing."""
    places = [array_on(place, matrix) for place in (rows, columns)]
    try:
        matrix[places[0], places[1]] = value
    except IndexError:  # a library that keeps to the letter of the standard
        for row, column in zip(*places, strict=True):
            matrix[int(row), int(column)] = value


def distinct_labels(labels: Array) -> NDArray[Any]:
    """Return the distinct labels in order, without sorting; if there are more than two numbers, three of them."""
    if not is_foreign(labels) and labels.dtype.kind not in "fiu":
        return np.unique(labels)
    if labels.shape[0] == 0:
        return np.array([])
    xp = namespace(labels)
    low, high = xp.min(labels), xp.max(labels)
    next_to_highest = xp.max(xp.where(labels < high, labels, low))
    return np.unique(to_host(xp.stack([low, high, next_to_highest])))  # one transfer from the device


def to_host(array: Array) -> NDArray[Any]:
    """Return an array as a NumPy array; meant for d × d matrices, not for the rows."""
    array = whole_rows(array)
    if isinstance(array, np.ndarray):
        return array
    if _is_torch(array):
        array = array.float() if type_name(array) == "bfloat16" else array  # NumPy has no bfloat16
        host: NDArray[Any] = array.detach().cpu().numpy()
        return host
    if _is_cupy(array):
        return np.asarray(array.get())
    return np.asarray(array)


def is_tensor(array: object) -> bool:
    """Return whether rows are a PyTorch or CuPy array, which offer more than the array API standard."""
    array = given_rows(array)
    return _is_torch(array) or _is_cupy(array)


def summed_product(factors: Array, rows: Array) -> Array:
    """Return factors times rows in float64; a CPU sums at most a few thousand products in the rows' own precision."""
    xp, count = namespace(rows), int(rows.shape[0])
    on_gpu = _is_cupy(rows) or getattr(rows, "is_cuda", False)
    if on_gpu and count >= TIMES_MORE * SUMMED_ON_DEVICE:
        return product_in_one_read(factors, rows, SUMMED_ON_DEVICE)
    if on_gpu or count <= SUMMED_AT_ONCE:  # a GPU sums pairwise, which keeps precision
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
    """Return XᵀX as blocks of its rows, each starting at the diagonal; the symmetric lower part is not computed.

    CPUs and CuPy compute the whole product as one block.
    """
    width = int(rows.shape[1])
    count = min(4, width // PART_COLUMNS) if is_foreign(rows) and not _is_cupy(rows) else 1  # CuPy copies columns
    ends = np.linspace(0, width, max(count, 1) + 1).astype(int).tolist()
    return [rows[:, begin:end].T @ rows[:, begin:] for begin, end in pairwise(ends)]


def joined_scatter(parts: list[Array]) -> Array:
    """Return the symmetric matrix from the blocks of :func:`scatter_parts`."""
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
    """Return the eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns, on its own device."""
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
    """Yield the result of `act` for each block of rows; if a device runs out of memory, the blocks get smaller.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. Their width and device determine the size of a block.
    act : callable
        Called with a slice.
    n_rows : int, optional
        Number of rows that the slices cover (default: all of `X`).
    at_once : int, optional
        Rows per block while memory lasts (default: :func:`block_rows`).
    """
    total = int(X.shape[0]) if n_rows is None else n_rows
    size, start = at_once or block_rows(X), 0
    while start < total:
        block = slice(start, min(start + size, total))
        try:
            part = act(block)
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryError":  # raised by PyTorch and by CuPy
                raise
            if size <= FEWEST_BLOCK_ROWS:
                raise DeviceMemoryError(
                    f"the device of X has too little memory for {block.stop - block.start:,} rows of width "
                    f"{X.shape[1]:,} at a time, in addition to its other data. Free some, or pass fewer rows at a time "
                    "(partial_fit, densray.scale.fit_blocks)."
                ) from error
            size = max(FEWEST_BLOCK_ROWS, size // 4)
            continue
        yield part
        if getattr(given_rows(X), "base", None) is not None:  # without a base it is not a memory map
            release_pages(given_rows(X))
        start = block.stop


def map_rows(
    X: Array, act: Callable[[Array], Array], width: int, *, check: Callable[[Array, slice], None] | None = None
) -> Array:
    """Return the rows that `act` computes from `X`, `width` numbers each, in the type of the input.

    Rows that are converted when read are computed block by block; a result too large for float16 is an error. `check`
    is called with the result of each block before it is stored.
    """
    if not isinstance(X, ConvertedRows):
        output = act(X)
        if check is not None:
            check(output, slice(0, int(X.shape[0])))
        return output
    xp = namespace(X)
    out = xp.empty((X.shape[0], width), dtype=X.out, device=X.device)

    def of_block(block: slice) -> None:
        output = act(X[block, :])
        if check is not None:
            check(output, block)
        with np.errstate(over="ignore"):
            out[block, :] = xp.astype(output, X.out)
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
    """Return the rows times a matrix; rows that are converted block by block give a product in the converted type."""
    if not isinstance(X, ConvertedRows):
        return X @ matrix
    parts = list(in_blocks(X, lambda block: X[block, :] @ matrix))
    return parts[0] if len(parts) == 1 else namespace(X).concat(parts)


def blocks_of(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover `n_rows` rows, `size` at a time."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
