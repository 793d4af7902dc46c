"""Rows: labelled vectors, ready to find an axis or to erase a concept.

All inputs become Rows: the words of a lexicon in a space, the documents of a table, the hidden states of a language
model. All methods start from them.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from densray._arrays import (
    BLOCK_ROWS,
    HALF_TYPES,
    float_rows,
    is_missing,
    label_array,
    namespace,
    own_rows,
    to_host,
    type_name,
    without_gradient,
)
from densray._vocabulary import spread_rows, unit_rows
from densray.errors import (
    Argument,
    LabelError,
    MissingCodeWarning,
    SimilarNamesWarning,
    VectorError,
    check_flag,
    name_some,
    one_line,
    shorten,
)
from densray.groups import (
    GroupProposal,
    WordForms,
    check_named_groups,
    find_equal_rows,
    find_forms,
    join_groups,
    number_groups,
    propose_groups,
    rows_of_groups,
)

if TYPE_CHECKING:
    from densray.tables import EncoderRecord

__all__ = ["Rows", "order_classes", "sides_of"]


#: Most classes whose sizes are shown in one line.
_CLASSES_SHOWN = 4


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled vectors with their names, the groups to hold out together, and a record of the labels left out.

    Make them with :meth:`densray.Lexicon.align`, :meth:`Rows.from_table`, :meth:`densray.states.States.rows` or
    :meth:`Rows.from_arrays`.

    Attributes
    ----------
    X : array of shape (n, d)
        One vector per row: a NumPy array, a memory map, or an array of another supported library.
    y : array of shape (n,), float64
        Labels. Two distinct values are two classes, the higher one positive. More than two values are scores, unless
        `class_names` is given; then they are class numbers.
    names : tuple of str
        The word or text of each row. Names may repeat.
    groups : array of shape (n,) or None
        Group number of each row. Rows of a group are held out together. None: every row is its own group.
    class_names : tuple of str
        Names of the classes, from the lowest label to the highest; empty for unnamed classes and for numeric labels.
    concept : str
        Name of the concept, such as the name of the lexicon.
    background : WordSpace, array or None
        The space or array that the rows were taken from, used to estimate the average vector. If None, the rows
        themselves are used.
    locations : array of shape (n,)
        Row numbers in the background, as :meth:`WordSpace.locate` gives them; empty without a background.
    missing : tuple of str
        Labelled names that are not in the background.
    merged : tuple of str
        Labelled names that were left out because another labelled name matched the same word of the background, such as
        *US* and *us*.
    other_case : dict
        Labelled names that the background has only in another case, each with that spelling.
    dropped : dict of tuples of str
        Names left out before alignment, by reason.
    proposal : GroupProposal or None
        Groups that densray would propose (``groups="proposed"``) but that are not in use.
    forms : WordForms or None
        Words that are held out together as forms of one word, or rows of a table with equal vectors.
    clipped_labels : dict
        Original values, by name, of outlying labels that were clipped to the range of the others.
    encoder : EncoderRecord or None
        The encoder of the vectors, if their table records it.
    table : str
        Name of the table of documents that the rows come from; empty for rows from elsewhere.
    n_in_table : int
        Number of rows of that table, labelled or not.
    label_digest : str
        Digest of the whole column of labels in that table, to recognise the table later.
    groups_final : bool
        By default, rows with equal vectors are put in one group. If True, this is not done: the groups stay as given.
        ``.grouped(None)`` sets it: every row is then held out alone.

    Examples
    --------
    >>> rows = Rows.from_arrays(np.eye(3), ["left", "right", "left"])
    >>> rows.y.tolist(), rows.class_names
    ([-1.0, 1.0, -1.0], ('left', 'right'))
    """

    X: Any
    y: NDArray[np.float64]
    names: tuple[str, ...]
    groups: NDArray[np.int64] | None = None
    class_names: tuple[str, ...] = ()
    concept: str = "rows"
    background: Any = field(default=None, repr=False)
    locations: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    missing: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    dropped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    proposal: GroupProposal | None = None
    forms: WordForms | None = None
    clipped_labels: Mapping[str, float] = field(default_factory=dict)
    other_case: Mapping[str, str] = field(default_factory=dict)
    encoder: EncoderRecord | None = field(default=None, repr=False)
    table: str = field(default="", repr=False)
    n_in_table: int = field(default=0, repr=False)
    label_digest: str = field(default="", repr=False)
    groups_final: bool = field(default=False, repr=False)

    def __repr__(self) -> str:
        values, counts = np.unique(self.y, return_counts=True)
        if self.class_names:
            names = [one_line(name, width=20) for name in self.class_names]
        else:
            names = [f"at {value:g}" for value in values.tolist()]
        if len(values) == len(names) and len(names) <= _CLASSES_SHOWN:
            labels = ", ".join(f"{count:,} {name}" for name, count in zip(names, counts.tolist(), strict=True))
        elif self.class_names:
            labels = f"{len(self.class_names):,} classes"
        else:
            labels = f"scores from {values[0]:g} to {values[-1]:g}"
        groups = "" if self.groups is None else f", {self.n_groups:,} groups"
        missing = f", {len(self.missing):,} missing" if self.missing else ""
        return (
            f"Rows '{one_line(self.concept, width=40)}': {len(self):,} rows × {self.width:,} dimensions "
            f"({labels}){groups}{missing}"
        )

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        groups: Sequence[Any] | str | None = None,
        classes: bool = False,
        concept: str = "rows",
        background: Any = None,
    ) -> Rows:
        """Return rows from vectors and labels.

        Parameters
        ----------
        X : array of shape (n, d)
            A writable array is copied, since some results are computed later. A read-only array or a memory map is not.
        y : array-like of shape (n,)
            Text labels are classes. Of two, the last in the alphabet is the high end (of "high" and "low" this is
            "low"); ``label_names=("low", "high")`` of :meth:`Axis.fit` decides otherwise. Numbers with two distinct
            values are classes, other numbers are scores.
        names : sequence of str, optional
            Default: the row numbers.
        groups : sequence, "proposed" or "forms", optional
            One group per row (None: the row is its own group). "proposed" groups repeated texts, and pairs of texts
            that differ in one word and have different labels (:func:`densray.groups.propose_groups`). "forms" groups
            words that are forms of one word. Rows with vectors that are equal up to rounding are held out together in
            any case, as in tables (see :meth:`with_equal_vectors_together`); ``.grouped(None)`` holds every row out
            alone.
        classes : bool, default=False
            Whether to treat numbers as class names, even if there are more than two.
        concept : str, default="rows"
        background : WordSpace or array, optional
        """
        array = own_rows(float_rows(X), X)
        if array.ndim != 2 or not len(array) or not array.shape[1]:
            raise VectorError(f"X has shape {tuple(array.shape)}; a table with one vector per row is needed.")
        check_flag(classes, "classes")
        labels, class_names = number_labels(y, classes=classes)
        _check_finite(array, "X")
        background = array if background is X else _checked_background(background, int(array.shape[1]))
        return rows_of(array, labels, class_names, names=names, groups=groups, concept=concept, background=background)

    @classmethod
    def from_table(
        cls,
        table: Any,
        labels: str,
        *,
        vectors: str | Sequence[str] | None = None,
        groups: str | None = None,
        names: str | None = None,
        classes: bool = False,
        bad_rows: Literal["error", "skip"] = "error",
    ) -> Rows:
        """Return the labelled rows of a table: a file, a folder of shards, or a frame of another library.

        Parameters
        ----------
        table : path, frame or VectorTable
            See :func:`densray.tables.open_table`.
        labels : str
            Column of the labels. Texts are classes. Numbers with more than two values are scores. Rows without a label
            are left out, and counted in `dropped`.
        vectors : str or sequence of str, optional
            Column of the vectors (default: the only one that could contain them).
        groups, names, classes
            See :meth:`densray.tables.VectorTable.rows`.
        bad_rows : {"error", "skip"}, default="error"
            How to treat a row without a usable vector: raise an error, or leave it out.

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"year": [1990, 2000, 2010], "vector": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]})
        >>> Rows.from_table(frame, "year").y.tolist()
        [1990.0, 2000.0, 2010.0]
        """
        from densray.tables import open_table

        documents = open_table(table, vectors=vectors, bad_rows=bad_rows)
        return documents.rows(labels, groups=groups, names=names, classes=classes)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return len(np.unique(self.y)) == 2

    @property
    def is_multiclass(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.class_names) > 2

    @property
    def sides(self) -> NDArray[np.float64]:
        """1 for the higher class or a score above the median, else -1."""
        return sides_of(self.y)

    @property
    def targets(self) -> NDArray[np.float64]:
        """-1 and 1 for two classes, the scores otherwise."""
        return self.sides if self.is_binary else self.y

    @property
    def indicators(self) -> NDArray[np.float64]:
        """Labels as columns: one column per class if there are more than two, else the labels themselves."""
        return (self.y[:, None] == np.unique(self.y)).astype(np.float64) if self.is_multiclass else self.y[:, None]

    @property
    def contrasts(self) -> list[NDArray[np.float64]]:
        """Targets of 1 and -1: one set for two classes, or one set per class against the rest."""
        if not self.is_multiclass:
            return [self.sides]
        return [np.where(self.y == value, 1.0, -1.0) for value in np.unique(self.y)]

    @property
    def held_out_groups(self) -> NDArray[np.int64] | None:
        """The proposed groups of the rows, or else their own groups; None if every row is its own group."""
        return self.groups if self.proposal is None else self.proposal.numbers

    @property
    def members(self) -> list[NDArray[np.intp]]:
        """Row numbers of each group."""
        return rows_of_groups(np.arange(len(self)) if self.groups is None else self.groups)

    @property
    def n_groups(self) -> int:
        """Number of groups; a row without a group counts as one."""
        return len(self) if self.groups is None else len(np.unique(self.groups))

    @property
    def coverage(self) -> float:
        """Share of the labelled names that have a vector."""
        n_with_vector = len(self) + len(self.merged)
        return n_with_vector / (n_with_vector + len(self.missing))

    @property
    def label_note(self) -> str:
        """A sentence on the words or rows that have no label; empty if all have one."""
        words, rows = (len(self.dropped.get(reason, ())) for reason in ("unlabelled", "no label"))
        return note_unlabelled(words, "words") + note_unlabelled(rows, "rows")

    @property
    def set_aside(self) -> dict[str, tuple[str, ...]]:
        """Names left out or merged, by reason, as :class:`densray.report.Provenance` records them."""
        reasons = {"same vector": self.merged, "in another case": tuple(self.other_case)}
        return {**self.dropped, **{reason: names for reason, names in reasons.items() if names}}

    @property
    def case_note(self) -> str:
        """A sentence with the names that were found in another case; empty if there are none."""
        if not self.other_case:
            return ""
        spellings = name_some(f"{name} ({spelling})" for name, spelling in list(self.other_case.items())[:3])
        more = ", …" if len(self.other_case) > 3 else ""
        count = "1 word was" if len(self.other_case) == 1 else f"{len(self.other_case):,} words were"
        return f"{count} found in another case: {spellings.replace(chr(39), '')}{more}."

    def background_blocks(self) -> Iterator[NDArray[Any]]:
        """Yield the vectors of the background in blocks; without a background, the vectors of the rows."""
        if hasattr(self.background, "blocks"):
            yield from (block for _, block in self.background.blocks())
        else:
            vectors = self.X if self.background is None else self.background
            for start in range(0, len(vectors), BLOCK_ROWS):
                yield np.asarray(vectors[start : start + BLOCK_ROWS])

    def background_sample(self, n: int) -> NDArray[Any]:
        """Return at most `n` vectors, evenly spread over the background."""
        if hasattr(self.background, "vectors_at"):
            return np.asarray(self.background.vectors_at(spread_rows(len(self.background), n)))
        vectors = self.X if self.background is None else self.background
        return np.asarray(vectors[spread_rows(len(vectors), n)])

    def unit(self) -> Rows:
        """Return the rows with vectors of unit length; vectors of zeros stay as they are."""
        return replace(self, X=unit_rows(to_host(self.X)))

    def prepared(self, *, normalize: bool) -> Rows:
        """Return the rows as a method sees them, with rows held out together whose vectors are equal for it.

        Parameters
        ----------
        normalize : bool
            Whether the method scales vectors to unit length.
        """
        rows = self.unit() if normalize else self
        return rows if self.groups_final else rows.with_equal_vectors_together()

    def held_together(self, *, normalize: bool) -> Rows:
        """Return the rows with the groups of :meth:`prepared`, and their own vectors."""
        rows = self.prepared(normalize=normalize)
        return self if rows.groups is self.groups else replace(rows, X=self.X)

    def take(self, places: NDArray[np.intp]) -> Rows:
        """Return the rows at these positions, counted from 0."""
        names = tuple(self.names[place] for place in places.tolist())
        locations = self.locations[places] if self.locations.size else self.locations
        groups = None if self.groups is None else self.groups[places]
        subset = replace(
            self, X=self.X[places], y=self.y[places], names=names, locations=locations, groups=groups,
            proposal=None, forms=None,
        )  # fmt: skip
        if len(places) != len(self):
            return subset  # properties of all rows do not describe a subset
        # the same rows in another order: group numbers follow that order
        proposal = None if self.proposal is None else replace(self.proposal, numbers=self.proposal.numbers[places])
        forms = None if self.forms is None else self.forms.take(places)
        return replace(subset, proposal=proposal, forms=forms)

    def relabelled(self, y: NDArray[np.float64]) -> Rows:
        """Return the same rows with other labels."""
        return replace(self, y=y, class_names=())

    def binarized(self) -> Rows:
        """Return the rows with the labels -1 and 1; scores are split at their median."""
        return replace(self, y=self.sides)

    def against_rest(self, class_name: str) -> Rows:
        """Return the rows with one class against all others."""
        if class_name not in self.class_names:
            raise LabelError(f"'{class_name}' is not a class of these rows; they have {name_some(self.class_names)}.")
        y = np.where(self.y == self.class_names.index(class_name), 1.0, -1.0)
        return replace(self, y=y, class_names=("rest", class_name), concept=f"{self.concept}: {class_name}")

    def grouped(self, groups: Sequence[Any] | NDArray[Any] | str | None) -> Rows:
        """Return the rows with these groups: one per row, a name, or None to hold out every row alone.

        "forms" groups forms of one word. "proposed" also groups pairs, repeated texts, and texts that differ in one
        word.
        """
        if groups is None or isinstance(groups, str):
            return self.with_named_groups(groups)
        if not hasattr(groups, "__len__") or len(getattr(groups, "shape", (1,))) != 1:
            description = f"of shape {groups.shape}" if hasattr(groups, "shape") else shorten(groups)
            raise LabelError(f"groups {description} are given; one group per row is needed.")
        if len(groups) != len(self):
            raise LabelError(f"{len(groups):,} groups are given for {len(self):,} rows; one per row is needed.")
        return replace(self, groups=number_groups(groups), proposal=None, forms=None, groups_final=False)

    def with_named_groups(
        self, groups: str | None, *, pairs: Sequence[tuple[str, str]] = (), equal_vectors: bool = False
    ) -> Rows:
        """Return the rows with groups that the library finds: "forms", "proposed", or None for no groups.

        With `equal_vectors`, rows with equal vectors are also grouped by "proposed". `pairs` are names given as pairs.
        """
        if groups is not None:
            check_named_groups(groups)
        forms = None if groups is None else find_forms(self.names, self.X, self.background)
        X = self.X if equal_vectors else None
        proposal = propose_groups(self.names, self.y, X, pairs=pairs, forms=forms)
        rows = replace(self, groups_final=groups is None)
        if groups == "proposed" and proposal is not None:
            return replace(rows, groups=proposal.numbers, proposal=None, forms=None)
        return replace(rows, groups=None if forms is None else forms.numbers, proposal=proposal, forms=forms)

    def with_equal_vectors_together(self) -> Rows:
        """Return the rows with groups in which rows with equal vectors are held out together; `forms` names them.

        Vectors are equal if they differ by rounding only, as copies in half precision do. Given groups that share a
        vector are joined. A vector in many groups, such as that of a blank text, joins none.
        """
        rows = replace(self, groups_final=False) if self.groups_final else self
        known = self.forms if self.forms is not None and self.forms.equal else None
        words = self.forms if known is None else known.words
        before = self.groups if known is None else known.before
        given = before if words is None else None  # not the groups of forms of one word
        equal = find_equal_rows(self.names, self.X, given)
        if equal is None:
            return rows
        groups = equal.numbers if before is None else join_groups(before, equal.numbers)
        n_groups, n_before = len(np.unique(groups)), self.n_groups if before is None else len(np.unique(before))
        if words is not None and n_groups == n_before:
            return rows
        if given is not None and 2 * n_groups < n_before:
            raise LabelError(
                f"{equal.n_words:,} rows have the vector of a row in another group. Held out together, they leave "
                f"{n_groups:,} of {n_before:,} groups. Remove repeated rows, or leave groups out."
            )
        proposal = self._proposal_with(groups) if equal.n_groups else self.proposal
        return replace(rows, groups=groups, proposal=proposal, forms=replace(equal, words=words, before=before))

    def _proposal_with(self, groups: NDArray[np.int64]) -> GroupProposal | None:
        """Return the proposal with these groups joined to it; None if it has nothing to add to them."""
        if self.proposal is None:
            return None
        numbers = join_groups(self.proposal.numbers, groups)
        sizes = np.bincount(numbers)
        if len(sizes) == len(np.unique(groups)):
            return None
        return replace(self.proposal, numbers=numbers, n_groups=len(sizes), n_rows=int(sizes[sizes > 1].sum()))

    @property
    def outlying_labels(self) -> NDArray[np.intp]:
        """Row numbers of scores far outside the range of the others, such as 70 among scores from 1 to 9."""
        low, high = (-np.inf, np.inf) if self.class_names else plausible_range(self.y)
        return np.flatnonzero((self.y < low) | (self.y > high))

    def clipped(self) -> Rows:
        """Return the rows with outlying labels clipped to the range of the other labels."""
        outlying = self.outlying_labels
        if not outlying.size:
            return self
        original = {self.names[row]: float(self.y[row]) for row in outlying.tolist()}
        return replace(self, y=np.clip(self.y, *plausible_range(self.y)), clipped_labels=original)

    def mixed(self) -> Rows:
        """Interleave the two classes evenly, keeping the order within each. Rows with scores are returned unchanged."""
        if not self.is_binary:
            return self
        shares = np.empty(len(self.y))
        for label in np.unique(self.y):
            members = np.flatnonzero(self.y == label)
            shares[members] = (np.arange(len(members)) + 0.5) / len(members)
        return self.take(np.argsort(shares, kind="stable"))


def rows_of(
    X: Any,
    y: NDArray[np.float64],
    class_names: tuple[str, ...],
    *,
    names: Sequence[str] | None = None,
    groups: Sequence[Any] | str | None = None,
    concept: str = "rows",
    background: Any = None,
) -> Rows:
    """Return rows from vectors and a background that were checked already, such as those of a table."""
    n = int(X.shape[0])
    texts = tuple(str(row) for row in range(n)) if names is None else tuple(str(name) for name in names)
    if names is not None and any(map(is_missing, names)):
        row = next(row for row, name in enumerate(names) if is_missing(name))
        raise LabelError(f"row {row} has no name. Give every row one, or leave names out.")
    for count, what in ((len(y), "labels"), (len(texts), "names")):
        if count != n:
            raise LabelError(f"{count:,} {what} are given for {n:,} rows; one per row is needed.")
    rows = Rows(X, y, texts, class_names=class_names, concept=concept, background=background)
    if isinstance(groups, str):
        rows = rows.with_named_groups(groups, equal_vectors=groups == "proposed")
    else:
        rows = rows.grouped(groups)
    return rows.with_equal_vectors_together()


def number_labels(labels: ArrayLike, *, classes: bool = False) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return labels as numbers, and the class names if they are classes; see :class:`Rows`.

    >>> number_labels(["b", "a", "c"])
    (array([1., 0., 2.]), ('a', 'b', 'c'))
    >>> number_labels([1990, 2001, 2015])
    (array([1990., 2001., 2015.]), ())
    """
    values = _plain(np.asarray(to_host(label_array(labels))))
    if values.dtype.kind in "fiub":
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise LabelError(f"row {bad[0]} has the label {values[bad[0]]}, not a finite number. Leave it out.")
        if not classes:
            return values.astype(np.float64), ()
    distinct, codes = np.unique(values, return_inverse=True)
    names = [str(name).removesuffix(".0") if values.dtype.kind == "f" else str(name) for name in distinct]
    order = sorted(range(len(names)), key=_class_order(names, labels))
    codes = np.argsort(order)[codes]
    numbers = np.where(codes == 1, 1.0, -1.0) if len(names) == 2 else codes.astype(np.float64)
    return numbers, tuple(names[place] for place in order)


def _check_finite(X: Any, name: str) -> None:
    """Raise for vectors with NaN or infinity, with their number and the first one.

    Rows are searched only in blocks whose sum is not finite. A device adds up its own blocks.
    """
    xp = namespace(X)
    total = {"dtype": xp.float32} if type_name(X) in HALF_TYPES else {}  # half precision overflows
    bad = []
    for start in range(0, len(X), BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            if bool(xp.isfinite(xp.sum(block, **total))):
                continue
        bad += [start + row for row in np.flatnonzero(~np.isfinite(to_host(block)).all(axis=1)).tolist()]
    if bad:
        raise VectorError(
            f"{name} contains NaN or infinity in {len(bad):,} of {len(X):,} rows (first: row {bad[0]}). Leave them out."
        )


def _checked_background(background: Any, width: int) -> Any:
    """Return the space or array that rows of this width come from; raise if its vectors do not fit."""
    if background is None:
        return None
    is_space = hasattr(background, "vectors_at")
    vectors = background if is_space else without_gradient(float_rows(background))
    shape = (len(vectors), vectors.width) if is_space else tuple(vectors.shape)
    if len(shape) != 2 or shape[1] != width or not shape[0]:
        raise VectorError(
            f"background has shape {shape}, and X has vectors of width {width}. Give the space or array that the rows "
            "come from."
        )
    if not is_space:
        _check_finite(vectors, "background")
    return vectors


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels as an array of numbers or text; raise if a label is missing or both kinds are mixed."""
    if values.ndim != 1:
        raise LabelError(
            f"labels of shape {values.shape} are given; one per row is needed. If each row has a 1 in the column of "
            "its class, pass y.argmax(axis=1) and ",
            Argument("classes", True),
            ".",
        )
    if values.dtype.kind == "c":
        raise LabelError("labels are complex numbers. Use one real label per row.")
    items: list[Any]
    if values.dtype.kind == "S":
        items = [value.decode("utf-8", "backslashreplace") for value in values.tolist()]
    elif values.dtype.kind == "U":
        items = values.tolist()
    elif values.dtype.kind == "O":
        items = list(values)
    else:
        return values
    for row, label in enumerate(items):
        if is_missing(label) or label == "":
            raise LabelError(f"row {row} has no label. Leave it out.")
    if all(isinstance(label, str) for label in items):
        return np.array([str(label) for label in items])
    if all(isinstance(label, (bool, np.bool_)) for label in items):
        return np.array(items, dtype=bool)
    try:
        if any(isinstance(label, (str, bool, np.bool_)) for label in items):
            raise TypeError("some are text or truth values and others are not")
        return np.array([float(label) for label in items])
    except (TypeError, ValueError, OverflowError) as error:
        raise LabelError(f"labels are neither all numbers nor all text ({shorten(error)}). Use one kind.") from error


def _class_order(names: Sequence[str], labels: object) -> Callable[[int], tuple[float, str]]:
    """Return the sort key of classes: the order of ordered categories, else numbers by value and text by alphabet."""
    kind = getattr(labels, "dtype", None)
    if getattr(kind, "ordered", False):
        places = {str(name): place for place, name in enumerate(kind.categories)}  # type: ignore[union-attr]
        return lambda place: (float(places.get(names[place], -1)), names[place])
    try:
        values = [float(name) for name in names]
    except ValueError:
        return lambda place: (0.0, names[place])
    return lambda place: (values[place], names[place])


#: Least number of scores for outliers to be detected, largest share of them at either end, and their distance, in
#: ranges of the other scores.
FEWEST_SCORES, OUTLYING_SHARE, OUTLYING_RANGES = 20, 0.1, 1.0


#: Numbers that often mark a missing answer; 9 does so only among integers that repeat, as answers on a scale do.
_MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
_CODE_AMONG_ANSWERS, _FEWEST_REPEATS = 9.0, 3
#: Number of bytes of a digest of labels.
LABEL_DIGEST = 16


def note_unlabelled(n: int, what: str) -> str:
    """Return a sentence on words or rows without a label, for an error about too few; empty if there are none.

    >>> note_unlabelled(30, "words")
    ' 30 words have no label. Fill in their cells: of merged cells, only the first has a value.'
    """
    if not n:
        return ""
    count, their = (f"1 {what.removesuffix('s')} has", "its cell") if n == 1 else (f"{n:,} {what} have", "their cells")
    return f" {count} no label. Fill in {their}: of merged cells, only the first has a value."


def warn_of_missing_codes(scores: NDArray[np.float64], source: str, *, noun: str = "label") -> None:
    """Warn of scores such as -99 that are far from all others: they often mark a missing answer."""
    for note in missing_code_notes(scores, source, noun=noun):
        warnings.warn(MissingCodeWarning(note), stacklevel=3)


def warn_of_text_labels(counts: Mapping[str, int], source: str) -> None:
    """Warn of text labels that may be mistakes: codes such as -99, and names that differ only in capitals."""
    _warn_of_codes_among_texts(counts, source)
    warn_of_similar_names(counts, source)


def _warn_of_codes_among_texts(counts: Mapping[str, int], source: str) -> None:
    """Warn of labels such as -99 among labels that are not numbers. `counts` are the number of rows of each label."""
    numbers = {text: parse_integer(text) for text in counts}
    texts = [text for text, number in numbers.items() if number is None]
    codes = [text for text, number in numbers.items() if number in (*_MISSING_CODES, _CODE_AMONG_ANSWERS)]
    if len(texts) < 2 or len(texts) + len(codes) < len(counts):
        return
    for code in codes:
        subject = "1 label is" if counts[code] == 1 else f"{counts[code]:,} labels are"
        note = (
            f"{source}: {subject} '{code}', and the others are texts ({name_some(texts)}). If '{code}' marks a missing "
            "answer, leave these labels empty."
        )
        warnings.warn(MissingCodeWarning(note), stacklevel=3)


#: With more names than this, capitals may well distinguish them, as in identifiers.
_FEW_NAMES = 50


def warn_of_similar_names(counts: Mapping[str, int], source: str, *, noun: str = "class") -> None:
    """Warn of classes or groups whose names differ only in capitals, such as a label typed in two ways."""
    spellings: dict[str, list[str]] = {}
    for name in counts:
        spellings.setdefault(name.casefold(), []).append(name)
    similar = [names for names in spellings.values() if len(names) > 1]
    if not similar or len(counts) > _FEW_NAMES:
        return
    shown = " and ".join(f"'{one_line(name, width=40)}' ({counts[name]:,})" for name in similar[0])
    more = f" (and {len(similar) - 1} more such names)" if len(similar) > 1 else ""
    plural = "classes" if noun == "class" else f"{noun}s"
    note = (
        f"{source}: {shown} differ only in capitals, and count as {len(similar[0])} {plural}{more}. If they are one, "
        "write them alike."
    )
    warnings.warn(SimilarNamesWarning(note), stacklevel=3)


def parse_integer(text: str) -> int | None:
    """Return the integer that a text stands for, None if there is none.

    >>> parse_integer("-99"), parse_integer("99.0"), parse_integer("9 of 10")
    (-99, 99, None)
    """
    match = re.fullmatch(r"([+−-]?[0-9]{1,9})([.,]0*)?", text.strip())
    return None if match is None else int(match[1].replace("−", "-"))


def missing_code_notes(scores: NDArray[np.float64], source: str, *, noun: str = "label") -> list[str]:
    """Return one note per score such as -99 that is far from all others: it often marks a missing answer.

    A negative one is suspect among scores that are not negative. Any is suspect if it is farther from the others than
    these are from each other. `noun` names a score in the note.
    """
    values, counts = np.unique(scores[np.isfinite(scores)], return_counts=True)
    are_answers = bool((values == np.round(values)).all()) and counts.sum() >= _FEWEST_REPEATS * len(values)
    is_code = np.isin(values, [*_MISSING_CODES, *([_CODE_AMONG_ANSWERS] if are_answers else [])])
    others = values[~is_code]
    if not is_code.any() or len(others) < 2:
        return []
    low, high = float(others[0]), float(others[-1])
    notes = []
    for value, count in zip(values[is_code].tolist(), counts[is_code].tolist(), strict=True):
        if (value < 0.0 <= low) or max(low - value, value - high) > high - low:
            subject = f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
            notes.append(
                f"{source}: {subject} {value:g}, far from the others ({low:g} to {high:g}). If {value:g} marks a "
                f"missing answer, leave these {noun}s empty."
            )
    return notes


def plausible_range(labels: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range of the scores without outlying ones; the whole range if there are none.

    The middle 80% of the scores are plausible. A score beyond them is plausible as well if its distance from the last
    plausible score is at most the range of the plausible scores so far. Fewer than 20 scores, or labels of fewer than
    three values, have no outlying ones.

    >>> plausible_range(np.array([*np.linspace(1.0, 9.0, 40), 70.0]))
    (1.0, 9.0)
    """
    ordered = np.sort(labels)
    count, few = len(ordered), max(1, int(OUTLYING_SHARE * len(ordered)))
    low, high = few, count - 1 - few
    if count < FEWEST_SCORES or len(np.unique(ordered[low : high + 1])) < 3:
        return float(ordered[0]), float(ordered[-1])
    while True:
        reach, before = OUTLYING_RANGES * (ordered[high] - ordered[low]), (low, high)
        if high + 1 < count and ordered[high + 1] - ordered[high] <= reach:
            high += 1
        if low > 0 and ordered[low] - ordered[low - 1] <= reach:
            low -= 1
        if (low, high) == before:
            return float(ordered[low]), float(ordered[high])


def order_classes(labelled: Any, ends: tuple[str, str] | None) -> Any:
    """Return labelled rows, or a labelled table, with the classes of two named ends in that order, the low one first.

    Unnamed classes and scores stay as they are. Names of other classes are an error: they would rename a class.
    """
    names = labelled.class_names
    if ends is None or len(names) != 2:
        return labelled
    composed, wanted = ([unicodedata.normalize("NFC", str(name)) for name in pair] for pair in (names, ends))
    if wanted == composed:
        return labelled
    if wanted != composed[::-1]:
        raise LabelError(
            f"the ends are named '{ends[0]}' and '{ends[1]}', and the classes are '{names[0]}' and '{names[1]}'. Name "
            "these two, the low end first, or leave the names out."
        )
    return replace(labelled, y=-labelled.y, class_names=names[::-1])


def sort_classes(labelled: Any, order: Sequence[str]) -> Any:
    """Return labelled rows, or a labelled table, with the classes in the order of a list that has all of them.

    >>> sort_classes(Rows.from_arrays([[1.0], [2.0]], ["low", "high"]), ["low", "middle", "high"]).class_names
    ('low', 'high')
    """
    class_names = labelled.class_names
    if not class_names or not set(class_names) <= set(order):
        return labelled
    names = sorted(class_names, key=list(order).index)
    if len(class_names) == 2:
        return order_classes(labelled, (names[0], names[1]))
    numbers = np.array([names.index(name) for name in class_names], dtype=np.float64)
    y = labelled.y.copy()
    labelled_rows = np.isfinite(y)
    y[labelled_rows] = numbers[y[labelled_rows].astype(np.intp)]
    return replace(labelled, y=y, class_names=tuple(names))


def sides_of(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 for the higher of two labels or a score above the median, else -1.

    If no score is above the median, the highest scores count as high.

    >>> sides_of(np.array([0.0, 1.0, 1.0])), sides_of(np.array([1.0, 2.0, 5.0]))
    (array([-1.,  1.,  1.]), array([-1., -1.,  1.]))
    """
    high = labels.max()
    cut = labels.min() if len(np.unique(labels)) == 2 else np.median(labels)
    return np.where(labels > cut if cut < high else labels == high, 1.0, -1.0)
