"""Ratings of words or texts by people, and the agreement between raters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from densray._arrays import category, is_no_number
from densray._conversions import columns_beside_dimensions
from densray._lexicon_files import WORD_NAMES, Notation, parse_rating
from densray._notation import decimal_delimiter, doubtful_number, explain_doubt, explain_number, uses_decimal_commas
from densray._text_files import NAMES_OF_WORDS, Line, TextFile
from densray.alignment import align_words
from densray.errors import Advice, Argument, LabelError, LexiconError, RaterColumnWarning, name_some, shorten
from densray.rows import Rows, warn_of_missing_codes

if TYPE_CHECKING:
    from densray.space import WordSpace
    from densray.tables import VectorTable

__all__ = ["RatingColumns", "Ratings", "reliability_with_gaps", "split_half_reliability"]

Vector = NDArray[np.float64]

#: Usual names of the column of items; the index that pandas writes has no name.
_ITEM_NAMES = (*dict.fromkeys((*NAMES_OF_WORDS, *WORD_NAMES)), "row", "text", "phrase", "occupation", "name", "")
_NAMES_OF_ITEMS = {*_ITEM_NAMES} - {"name", ""}
#: Usual names of the column of raters, without marks and a final "id" or number sign.
_RATER_NAMES = {"rater", "raters", "participant", "participants", "subject", "subj", "respondent", "annotator",
                "judge", "worker", "coder", "evaluator", "assessor", "observer", "informant", "prolificp", "vp", "vpn",
                "proband", "probandin", "versuchsperson", "teilnehmer", "teilnehmerin", "teilnehmende", "befragte",
                "befragter", "urteiler", "kodierer", "sujet", "participante", "juez", "juge"}  # fmt: skip
_RATER_ENDINGS = re.compile(r"(id|nr|no|num|number|nummer|code|name)$")
#: Number of raters to name.
_MOST_RATERS = 5
#: Share of the items that a column of items distinguishes; homographs are equal.
_SHARE_DISTINCT = 0.9
#: Items repeat if there are at least this many ratings per item, on average.
_RATINGS_PER_ITEM = 1.5
#: Raters of at least this many items are compared with the others.
_FEWEST_TO_COMPARE = 10
_RATING_NAMES = ("rating", "mean", "score", "value", "label")
#: Number of random splits of the raters for the split-half reliability.
N_SPLITS = 200


@dataclass(frozen=True)
class RatingColumns:
    """The columns of a file of ratings: their names, and the default choice of :meth:`Ratings.read`.

    Attributes
    ----------
    names : tuple of str
        In order; empty if the file has no header.
    count : int
        Number of columns.
    items : int
        Position of the items, from 0.
    ratings : tuple of int
        Positions of the ratings, one per rater; empty if the columns leave them ambiguous.
    """

    names: tuple[str, ...]
    count: int
    items: int
    ratings: tuple[int, ...]

    @classmethod
    def read(cls, path: str | PathLike[str], *, encoding: str = "utf-8") -> RatingColumns:
        """Return the columns of a file."""
        table = _Table(TextFile(path, encoding=encoding, error=LexiconError))
        items = table.likely_items(())
        items = table.candidates(())[0] if items is None else items
        return cls(tuple(table.names or ()), table.width, items, tuple(table.likely_ratings(items) or ()))


@dataclass(frozen=True, eq=False)
class Ratings:
    """Items with their mean rating, its standard error, and the ratings of each rater if they are known.

    Make them with :meth:`Ratings.read` or :meth:`Ratings.of`.

    Attributes
    ----------
    items : tuple of str
        The rated items, each once.
    values : array of shape (n,)
        Mean rating of each item.
    errors : array of shape (n,) or None
        Standard error of each mean; NaN if it is not known.
    raters : array of shape (n, n_raters) or None
        One column per rater, NaN where a rater skipped an item; None if only means are known.
    name : str
    repeated : tuple of str
        Items that were given more than once; their ratings were averaged.
    unrated : tuple of str
        Items without any rating, left out.
    sheet_note : str
        A note on the sheets of a workbook that were not read; empty for other sources.
    notes : tuple of str
        How the ratings were read: the column of items if there was a choice, and ratings that one rater gave twice.
    rater_names : tuple of str
        Names of the raters; empty if they are not known.

    Examples
    --------
    >>> ratings = Ratings.of(["cat", "dog", "cow"], [[1.0, 3.0], [4.0, 4.0], [9.0, 7.0]])
    >>> ratings.values.tolist(), ratings.n_raters
    ([2.0, 4.0, 8.0], 2)
    """

    items: tuple[str, ...]
    values: Vector
    errors: Vector | None = None
    raters: Vector | None = None
    name: str = "ratings"
    repeated: tuple[str, ...] = ()
    unrated: tuple[str, ...] = ()
    sheet_note: str = ""
    notes: tuple[str, ...] = ()
    rater_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        known = "" if self.raters is None else f" by {self.raters.shape[1]:,} raters"
        low, high = self.values.min(), self.values.max()
        return f"Ratings '{self.name}': {len(self.items):,} items{known}, from {low:g} to {high:g}"

    @classmethod
    def of(
        cls, items: Sequence[str], ratings: ArrayLike, *, errors: ArrayLike | None = None, name: str = "ratings"
    ) -> Ratings:
        """Return ratings from arrays.

        Parameters
        ----------
        items : sequence of str
            Repeated items are averaged.
        ratings : array-like of shape (n,) or (n, n_raters)
            Mean ratings, or one column per rater; NaN means no rating.
        errors : array-like of shape (n,), optional
            Standard errors of mean ratings.
        name : str, default="ratings"
        """
        table = np.asarray(ratings, dtype=np.float64)
        texts = [str(item) for item in items]
        if table.ndim not in (1, 2) or len(table) != len(texts):
            raise LabelError(f"{len(texts)} items and ratings of shape {table.shape} are given; one row per item.")
        if table.ndim == 2 and errors is not None:
            raise LabelError(
                "errors are given together with the ratings of each rater, from which errors are computed. Leave "
                "errors out."
            )
        if np.isinf(table).any():
            raise LabelError(f"'{name}' has infinite ratings; finite numbers are needed.")
        members: dict[str, list[int]] = {}
        for place, item in enumerate(texts):
            members.setdefault(item, []).append(place)
        columns = table[:, None] if table.ndim == 1 else table
        merged = columns[[places[0] for places in members.values()]]
        for row, places in enumerate(members.values()):
            if len(places) > 1:
                merged[row] = _mean(columns[places])
        rated: NDArray[np.bool_] = np.asarray(np.isfinite(merged).any(axis=1))
        if not rated.any():
            raise LabelError(f"'{name}' has no rated item.")
        kept = tuple(item for item, yes in zip(members, rated.tolist(), strict=True) if yes)
        merged = merged[rated]
        single = table.ndim == 1 or columns.shape[1] == 1
        item_errors = None if single else _standard_errors(merged)
        if errors is not None:
            own_errors = np.asarray(errors, dtype=np.float64)
            if own_errors.shape != (len(texts),) or (own_errors < 0).any():
                raise LabelError(
                    f"errors of shape {own_errors.shape} are given for {len(texts)} items; one number per item, none "
                    "below 0, is needed."
                )
            # the error of a mean of k values is the root of the sum of their squares, over k
            own = [np.sqrt(np.sum(own_errors[places] ** 2)) / len(places) for places in members.values()]
            item_errors = np.array(own)[rated]
        return cls(
            items=kept,
            values=_mean(merged.T),
            errors=item_errors,
            raters=None if single else merged,
            name=name,
            repeated=tuple(item for item, places in members.items() if len(places) > 1),
            unrated=tuple(item for item, yes in zip(members, rated.tolist(), strict=True) if item and not yes),
        )

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        *,
        item_column: str | int | None = None,
        rating_column: str | int | Sequence[str | int] | None = None,
        error_column: str | int | None = None,
        rater_column: str | int | None = None,
        encoding: str = "utf-8",
        name: str | None = None,
    ) -> Ratings:
        """Return the ratings of a table: columns separated by tabs, semicolons or commas, with or without a header.

        Parameters
        ----------
        path : str or path
        item_column : str or int, optional
            Name or position (from 0) of the items (default: a column ``item``, ``word``, …, or the only column of
            text). The notes of the result name the column if there was a choice.
        rating_column : str, int or sequence of these, optional
            The mean ratings, or several columns, one per rater (default: the only column of numbers, a column
            ``rating``, ``mean``, …, or numbered columns (``subj01``, ``subj02`` …), one per rater).
        error_column : str or int, optional
            Standard errors of the mean ratings.
        rater_column : str or int, optional
            Column of the rater, in a table with one rating per line.
        encoding : str, default="utf-8"
        name : str, optional
            Default: the name of the file.
        """
        table = _Table(TextFile(path, encoding=encoding, error=LexiconError))
        errors_at = None if error_column is None else table.place(error_column)
        by_line = None if rater_column is None else table.place(rater_column)
        chosen = () if rating_column is None else table.rating_places(rating_column, None)
        taken = (errors_at, by_line, *chosen)
        item_at = table.item_place(item_column, taken=taken)
        rating_at = table.rating_places(rating_column, item_at, others=(errors_at, by_line))
        if len(rating_at) > 1 and (errors_at is not None or by_line is not None):
            raise table.file.problem("several columns of ratings are one rater each; name one of them, or no others.")
        if errors_at is not None and by_line is not None:
            raise table.file.problem(
                "single ratings by named raters give standard errors of their own; name no others."
            )
        values = np.column_stack([table.numbers(place) for place in rating_at])
        items = table.items(item_at)
        set_name = name or table.file.path.stem
        if by_line is not None:
            found = cls._by_rater(items, table.column(by_line), values[:, 0], name=set_name)
        else:
            errors = None if errors_at is None else table.numbers(errors_at)
            found = cls.of(items, values if len(rating_at) > 1 else values[:, 0], errors=errors, name=set_name)
            if len(rating_at) > 1:
                found = replace(found, rater_names=tuple(map(table.name_of, rating_at)))
            else:
                table.warn_of_raters(item_at, (*rating_at, errors_at))
        note = "" if item_column is not None else table.explain_items(item_at, (*taken, *rating_at))
        notes = (note, *found.notes) if note else found.notes
        return replace(found, sheet_note=table.file.sheet_note, notes=notes)

    @classmethod
    def _by_rater(cls, items: Sequence[str], raters: Sequence[str], values: Vector, *, name: str) -> Ratings:
        """Return ratings from one rating per line; repeated ratings of an item by one rater are averaged."""
        rows = {item: number for number, item in enumerate(dict.fromkeys(items))}
        names = [category(rater) for rater in raters]
        columns = {rater: number for number, rater in enumerate(dict.fromkeys(names))}
        sums, counts = np.zeros((len(rows), len(columns))), np.zeros((len(rows), len(columns)))
        for item, rater, value in zip(items, names, values.tolist(), strict=True):
            if np.isfinite(value):
                sums[rows[item], columns[rater]] += value
                counts[rows[item], columns[rater]] += 1
        found = cls.of(list(rows), np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), name=name)
        notes = []
        if (counts > 1).any():
            item, rater = (list(each)[at] for each, at in zip((rows, columns), np.argwhere(counts > 1)[0], strict=True))
            n_pairs, n_ratings = int((counts > 1).sum()), int(counts[counts > 1].sum())
            notes.append(
                f"{n_ratings:,} ratings were averaged to {n_pairs:,}: a rater rated the same item more than once "
                f"(first: {rater!r} and {item!r})."
            )
        return replace(found, notes=tuple(notes), rater_names=tuple(columns))

    @classmethod
    def from_table(
        cls,
        table: Any,
        ratings: str | Sequence[str],
        *,
        names: str | None = None,
        errors: str | None = None,
        raters: str | None = None,
    ) -> Ratings:
        """Return the ratings in the columns of a table of documents.

        Parameters
        ----------
        table : path, frame or VectorTable
            See :func:`densray.tables.open_table`.
        ratings : str or sequence of str
            Column of the mean ratings; several columns are one rater each.
        names : str, optional
            Column of the texts or names of the documents (default: ``id``, or row numbers). Documents with the same
            name are one item.
        errors : str, optional
            Column of the standard errors of mean ratings.
        raters : str, optional
            Column of the rater, in a table with one rating per row.

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"id": ["a", "b"], "stars": [2.0, 5.0], "vector": [[1.0, 0.0], [0.0, 1.0]]})
        >>> Ratings.from_table(frame, "stars", names="id").items
        ('a', 'b')
        """
        from densray.tables import open_table

        documents = open_table(table)
        columns = [ratings] if isinstance(ratings, str) else list(ratings)
        if len(columns) > 1 and (errors is not None or raters is not None):
            raise LabelError("several columns of ratings are one rater each; name one of them, or no others.")
        if errors is not None and raters is not None:
            raise LabelError("single ratings by named raters give standard errors of their own; name no others.")
        values = np.column_stack([_table_numbers(documents, column) for column in columns])
        items = row_names(documents, names)
        set_name = columns[0] if len(columns) == 1 else documents.name
        if raters is not None:
            rater_names = ["" if value is None else str(value) for value in documents.column(raters).to_pylist()]
            return cls._by_rater(items, rater_names, values[:, 0], name=set_name)
        column_errors = None if errors is None else _table_numbers(documents, errors)
        found = cls.of(items, values if len(columns) > 1 else values[:, 0], errors=column_errors, name=set_name)
        return replace(found, rater_names=tuple(columns)) if len(columns) > 1 else found

    def __len__(self) -> int:
        return len(self.items)

    @property
    def n_raters(self) -> int | None:
        """Number of raters; None if only means are known."""
        return None if self.raters is None else int(self.raters.shape[1])

    def take(self, places: NDArray[np.intp]) -> Ratings:
        """Return the items at these positions."""
        return replace(
            self,
            items=tuple(self.items[place] for place in places.tolist()),
            values=self.values[places],
            errors=None if self.errors is None else self.errors[places],
            raters=None if self.raters is None else self.raters[places],
            repeated=(),
            unrated=(),
        )

    def align(self, space: WordSpace, *, any_case: bool | None = None) -> Rows:
        """Return the items that are in a space as Rows with their mean ratings; the others are in `rows.missing`.

        Spellings of one word of the space are averaged, like repeated items.
        """
        rows = align_words(
            self.items,
            self.values,
            space,
            any_case=any_case,
            limit=None,
            minimum=2,
            conflicts="mean",
            note=self.sheet_note and f" {self.sheet_note}",
        )
        return rows if rows.concept == self.name else _rename(rows, self.name)

    def doubtful_raters(self) -> list[str]:
        """Return a sentence on the raters who rate against the others, rate all items alike, or equal another rater.

        Raters of at least ten items are compared. A rater is against the others if the 95% interval of the correlation
        with their mean is below zero; the interval is wider for more raters (Bonferroni). Of two raters, it is only
        said that they disagree.

        Examples
        --------
        >>> up = np.arange(12.0)
        >>> table = np.column_stack([up, up + up % 3, up + up % 4, 11 - up, np.ones(12)])
        >>> for sentence in Ratings.of([f"w{number}" for number in range(12)], table).doubtful_raters():
        ...     print(sentence)
        Rating against the others: rater 4 (r = −0.99). Check the direction of the scale.
        The same rating for all items: rater 5.
        """
        if self.raters is None:
            return []
        known = np.isfinite(self.raters)
        counts, filled = known.sum(axis=0), np.where(known, self.raters, 0.0)
        width = NormalDist().inv_cdf(1.0 - 0.025 / len(counts))
        total, n_ratings = filled.sum(axis=1), known.sum(axis=1)
        against, constant, equal = [], [], []
        first: dict[bytes, int] = {}
        for at in np.flatnonzero(counts >= _FEWEST_TO_COMPARE).tolist():
            own, name = self.raters[:, at], self._name_rater(at)
            shared = known[:, at] & (n_ratings > 1)
            if not np.ptp(own[known[:, at]]):
                constant.append(name)
                continue
            if len(np.unique(own[known[:, at]])) > 2:  # of yes and no, ten may well be equal
                other = first.setdefault(own.tobytes(), at)
                equal += [] if other == at else [f"{name} and {self._name_rater(other)}"]
            others = (total - filled[:, at])[shared] / (n_ratings[shared] - 1)
            if shared.sum() >= _FEWEST_TO_COMPARE and np.ptp(own[shared]) and np.ptp(others):
                r = float(np.corrcoef(own[shared], others)[0, 1])
                if np.arctanh(max(r, -1 + 1e-12)) + width / np.sqrt(shared.sum() - 3) < 0.0:
                    against.append((name, f"(r = −{abs(r):.2f})"))
        sentences = []
        if against and len(counts) == 2:  # neither is known to be the one who is wrong
            how = against[0][1]
            sentences.append(f"The two raters rate in opposite directions {how}. Check the direction of the scale.")
        elif against:
            named = _name_raters([" ".join(each) for each in against])
            sentences.append(f"Rating against the others: {named}. Check the direction of the scale.")
        if constant:
            sentences.append(f"The same rating for all items: {_name_raters(constant)}.")
        if equal:
            sentences.append(f"Equal ratings of all items: {_name_raters(equal)}. Is one a copy?")
        return sentences

    def _name_rater(self, at: int) -> str:
        return f"“{self.rater_names[at]}”" if self.rater_names else f"rater {at + 1}"

    def reliability(self, *, n_splits: int = N_SPLITS, random_state: int = 0) -> float | None:
        """Return the share of the variance of the mean ratings that other raters of the same kind would reproduce.

        With raters, it is their split-half correlation with the correction of Spearman and Brown, or, if ratings are
        missing, one minus the share of noise (:func:`reliability_with_gaps`). With standard errors, it is one minus
        their mean square divided by the variance of the ratings. None if neither is known.
        """
        if self.raters is not None:
            if np.isnan(self.raters).any():
                return reliability_with_gaps(self.raters)
            return split_half_reliability(self.raters, n_splits=n_splits, random_state=random_state)
        if self.errors is None or not np.isfinite(self.errors).any() or not np.ptp(self.values):
            return None
        noise = float(np.nanmean(self.errors**2))
        return float(np.clip(1.0 - noise / float(self.values.var(ddof=1)), 0.0, 1.0))


def row_names(table: VectorTable, names: str | None) -> list[str]:
    """Return the names of the rows of a table: a column, or :meth:`VectorTable.row_names`."""
    if names is None:
        return table.row_names()
    return ["" if value is None else str(value) for value in table.column(names).to_pylist()]


def _table_numbers(table: VectorTable, name: str) -> Vector:
    """Return a column of numbers; NaN where a value is missing."""
    values, cells = [], table.column(name).to_pylist()
    texts = [cell if isinstance(cell, str) else "" for cell in cells]
    doubtful = doubtful_number(texts, uses_commas=True)  # files of numbers without a doubt have no texts here
    if doubtful:
        row = texts.index(doubtful) + 1
        raise LabelError(f"{table.name}, row {row:,}, column '{name}': {explain_doubt(doubtful)}")
    for row, value in enumerate(cells, start=1):
        if value is None or (isinstance(value, str) and is_no_number(value)):
            values.append(np.nan)
            continue
        number = parse_rating(value) if isinstance(value, str) else _as_float(value)
        if number is None and isinstance(value, str) and (problem := explain_number(value)):
            raise LabelError(f"{table.name}, row {row:,}, column '{name}': {problem}")
        if number is None:
            raise LabelError(
                f"{table.name}, row {row:,}: {shorten(str(value))} in the column '{name}' is not a number. Ratings are "
                "numbers. If there is no rating, leave the cell empty."
            )
        values.append(number)
    numbers = np.array(values, dtype=np.float64)
    warn_of_missing_codes(numbers, f"{table.name}, column '{name}'")
    return numbers


def _as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def split_half_reliability(raters: ArrayLike, *, n_splits: int = N_SPLITS, random_state: int = 0) -> float | None:
    r"""Return the reliability of a mean over raters: the correlation of two halves, corrected for their size.

    .. math:: \rho = \frac{k r}{1 + (k - 1) r}

    (Spearman 1910, Brown 1910), with r the mean correlation of the means of two random halves of the raters, and k = 2.
    If the number of raters is odd, one of them is left out of both halves, and k is slightly larger. The reliability is
    the expected correlation of these means with the means of the same number of other raters. The correlation of these
    means with any noise-free score is at most the square root of the reliability. None for fewer than two raters, or if
    the ratings of each half are constant; 0 if halves do not agree at all.

    Parameters
    ----------
    raters : array-like of shape (n_items, n_raters)
        Without gaps; see :func:`reliability_with_gaps`.
    n_splits : int, default=200
    random_state : int, default=0

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ratings = rng.normal(size=(400, 1)) + rng.normal(size=(400, 10))
    >>> bool(abs(split_half_reliability(ratings) - 10 / 11) < 0.02)
    True
    """
    table = np.asarray(raters, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        return None
    random, count = check_random_state(random_state), table.shape[1]
    if np.isnan(table).any():
        raise LabelError("ratings are missing. Use reliability_with_gaps.")
    half = count // 2
    places = np.array([random.permutation(count) for _ in range(n_splits)]).T
    sides = [((places >= start) & (places < start + half)).astype(np.float64) for start in (0, half)]
    sums, correlations = [table @ side for side in sides], []
    for first, second in zip(sums[0].T, sums[1].T, strict=True):
        if len(table) >= 3 and np.ptp(first) > 0.0 and np.ptp(second) > 0.0:
            correlations.append(float(np.corrcoef(first, second)[0, 1]))
    if not correlations:
        return None
    times, r = count / half, max(float(np.mean(correlations)), 0.0)
    return float(times * r / (1.0 + (times - 1.0) * r))


def reliability_with_gaps(raters: ArrayLike) -> float | None:
    r"""Return the reliability of the mean ratings of a table in which ratings are missing.

    It is one minus the share of noise in the variance of the means. A rating is the sum of the effect of the item, the
    effect of the rater, and an error:

    .. math:: \rho = 1 - \frac{\sigma_e^2 \, \overline{1/n_i} + \sigma_b^2 \sum_r \mathrm{var}_i(w_{ir})}
        {\mathrm{var}(\bar x_i)}

    with :math:`w_{ir} = 1/n_i` if rater r rated item i, else 0. If all raters rate everything, their effects cancel,
    and this is Cronbach's alpha. The variance of the errors :math:`\sigma_e^2` is that of the residuals of both
    effects, and the variance of the raters :math:`\sigma_b^2` is the variance within items minus :math:`\sigma_e^2`.
    None if no item has two ratings, or if all means are equal; 0 if there is more noise than variance.

    Parameters
    ----------
    raters : array-like of shape (n_items, n_raters)
        NaN where a rater skipped an item. Items without a rating are left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ratings = rng.normal(size=(400, 1)) + rng.normal(size=(400, 10))
    >>> ratings[rng.random(ratings.shape) < 0.5] = np.nan
    >>> bool(abs(reliability_with_gaps(ratings) - 5 / 6) < 0.03)
    True
    """
    table = np.asarray(raters, dtype=np.float64)
    table = table[np.isfinite(table).any(axis=1)] if table.ndim == 2 else table
    if table.ndim != 2 or len(table) < 3 or table.shape[1] < 2:
        return None
    known = np.isfinite(table)
    counts, means = known.sum(axis=1), _mean(table.T)
    spread = float(means.var(ddof=1))
    n_within = int(counts.sum()) - len(table)
    if not n_within or not spread:
        return None
    within = float(np.where(known, (table - means[:, None]) ** 2, 0.0).sum()) / n_within
    squares, freedom = _two_way_residuals(table, known)
    error = min(squares / freedom, within) if freedom > 0 else within
    weights = known / counts[:, None]
    noise = error * float(np.mean(1.0 / counts)) + (within - error) * float(weights.var(axis=0, ddof=1).sum())
    return float(np.clip(1.0 - noise / spread, 0.0, 1.0))


def _two_way_residuals(table: Vector, known: NDArray[np.bool_]) -> tuple[float, int]:
    """Return the sum of squares that effects of items and of raters do not explain, and its degrees of freedom."""
    from scipy.sparse import csr_array, hstack
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import lsqr

    items, raters = np.nonzero(known)
    n, ones, order = len(items), np.ones(len(items)), np.arange(len(items))
    design = [
        csr_array((ones, (order, each)), shape=(n, size))
        for each, size in zip((items, raters), table.shape, strict=True)
    ]
    effects = hstack(design, format="csr")
    values = table[known] - table[known].mean()
    residuals = values - effects @ lsqr(effects, values, atol=1e-12, btol=1e-12)[0]
    linked = effects.T @ effects
    used = np.flatnonzero(linked.diagonal())
    n_parts, _ = connected_components(linked[used][:, used], directed=False)
    return float(residuals @ residuals), n - (len(used) - n_parts)


def _mean(rows: Vector) -> Vector:
    """Return the means of columns over the rows that are not NaN; NaN if all are."""
    known = np.isfinite(rows)
    counts = known.sum(axis=0)
    return np.asarray(np.where(counts > 0, np.where(known, rows, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan))


def _standard_errors(table: Vector) -> Vector:
    known = np.isfinite(table)
    counts, means = known.sum(axis=1), _mean(table.T)
    squares = np.where(known, (table - means[:, None]) ** 2, 0.0).sum(axis=1)
    spread = np.sqrt(squares / np.maximum(counts - 1, 1))
    return np.asarray(np.where(counts > 1, spread / np.sqrt(np.maximum(counts, 1)), np.nan))


def _name_raters(raters: Sequence[str]) -> str:
    """Return the first raters, and how many more there are."""
    more = len(raters) - _MOST_RATERS
    return ", ".join(raters[:_MOST_RATERS]) + (f" and {more} more" if more > 0 else "")


def _names_raters(heading: str) -> bool:
    """Return whether a column name is a usual one for raters.

    >>> [_names_raters(name) for name in ("Rater", "VP-Nr.", "participant_id", "WorkerId", "Rater 1", "Kategorie")]
    [True, True, True, True, False, False]
    """
    text = re.sub(r"[\W_]+", "", heading.casefold())
    return text in _RATER_NAMES or _RATER_ENDINGS.sub("", text) in _RATER_NAMES


def _rename(rows: Rows, name: str) -> Rows:
    return replace(rows, concept=name)


class _Table:
    """The columns of a file of ratings."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self._notation = Notation(file)
        self._delimiter, lines = file.table_lines()
        file.refuse_title(lines, None, _is_value)
        rows = [file.split(line, self._delimiter) for line in lines]
        width = len(rows[0])
        for line, row in zip(lines, rows, strict=True):
            if any(row[width:]):
                raise file.problem(
                    f"{shorten(line.text)} has {len(row)} fields; the first line has {width}.", line=line.number
                )
            row[width:] = []
            row.extend([""] * (width - len(row)))  # an item without a rating
        if width < 2:
            raise file.problem(f"{shorten(lines[0].text)} has an item but no rating.", line=lines[0].number)
        self.names: list[str] | None = None
        if _is_header(rows[0]):
            self.names, lines, rows = rows[0], lines[1:], rows[1:]
            if not rows:
                raise file.problem("there is only a line of column names. Add items below it.")
        self._lines: list[Line] = lines
        self._columns = list(zip(*rows, strict=True))
        self._n_different = [len(set(cells)) for cells in self._columns]
        self._decimals = decimal_delimiter((cell for row in rows for cell in row), self._delimiter)

    def column(self, place: int) -> list[str]:
        return list(self._columns[place])

    def place(self, column: str | int) -> int:
        """Return the position of a column by its name, or by its number from 0."""
        names = self.names or []
        if isinstance(column, str) and column in names:
            return names.index(column)
        number = int(column) if isinstance(column, int) or column.isdecimal() else -1
        if 0 <= number < len(self._columns):
            return number
        available = (
            f"the columns are {name_some(names, most=12)}" if names else f"there are {len(self._columns)} columns"
        )
        raise self.file.problem(f"there is no column '{column}': {available}.")

    def items(self, place: int) -> list[str]:
        """Return the items of a column, each with a text."""
        items = self.column(place)
        if "" in items:
            line = self._lines[items.index("")]
            raise self.file.problem(f"{shorten(line.text)} has no item. Add one, or delete the line.", line=line.number)
        return items

    def item_place(self, column: str | int | None, *, taken: Collection[int | None] = ()) -> int:
        """Return the position of the items: the given column, or the likely one; raise if there are several."""
        if column is not None:
            return self.place(column)
        place = self.likely_items(taken)
        if place is None:
            named = ", ".join(self._describe(each) for each in self.candidates(taken))
            raise self.file.problem(
                f"the items may be in any of these columns: {named}.",
                Advice(" Say which with ", Argument("item_column", ...), "."),
            )
        return place

    def likely_items(self, taken: Collection[int | None]) -> int | None:
        """Return the position of the items among the columns not taken; None if it is ambiguous.

        It is a column with a usual name, of texts if there are several, or else the only column of texts, or the only
        one that distinguishes nearly all items. The index that pandas writes has no name and is the first column.
        """
        free, texts = self._free(taken), self._texts(taken)
        lowered = {name.strip().lower(): place for place, name in reversed([*enumerate(self.names or [])])}
        if lowered.get("", 0) or (texts and 0 not in texts):
            lowered.pop("", None)
        usual = [lowered[name] for name in _ITEM_NAMES if lowered.get(name) in free]
        if usual:
            return next((place for place in usual if place in texts), usual[0])
        candidates = self.candidates(taken)
        distinct = candidates if len(candidates) == 1 else self._distinct(candidates)
        return distinct[0] if len(distinct) == 1 else None

    def _distinct(self, places: Sequence[int]) -> list[int]:
        """Return the columns with nearly as many different texts as these columns have together.

        The lines are not counted, because each line may be one rating.
        """
        n_together = len(set(zip(*(self._columns[place] for place in places), strict=True)))
        return [place for place in places if self._n_different[place] >= _SHARE_DISTINCT * n_together]

    def candidates(self, taken: Collection[int | None]) -> list[int]:
        """Return the columns of texts that could be the items, or else the first free column.

        Gaps, or the same text in all lines, rule a column out, and so does the usual name of a column of raters.
        """
        texts = self._texts(taken)
        filled = [place for place in texts if self._n_different[place] > 1 and "" not in self._columns[place]]
        found = [place for place in filled if not self._is_of_raters(place)] or filled or texts
        return found or self._free(taken)[:1]

    def explain_items(self, place: int, taken: Collection[int | None]) -> str:
        """Return a note on the column that was read as items; empty if it is the only one that could be."""
        others = [each for each in self.candidates(taken) if each != place and each in self._texts(taken)]
        if not others:
            return ""
        named = ", ".join(map(self._describe, others))
        return f"The items were read from the column {self._describe(place)}, not from {named}."

    def _free(self, taken: Collection[int | None]) -> list[int]:
        return [place for place in range(self.width) if place not in taken] or [0]

    def _texts(self, taken: Collection[int | None]) -> list[int]:
        """Return the columns of texts among those not taken."""
        return [place for place in self._free(taken) if not _is_numeric(self._columns[place], self._decimals)]

    def name_of(self, place: int) -> str:
        """Return the name of a column, or its number from 0."""
        return str(place) if self.names is None else self.names[place]

    def _describe(self, place: int) -> str:
        """Return the name of a column in quotes, or its number and its first text."""
        return f"{place} ({shorten(self._columns[place][0])})" if self.names is None else f"'{self.names[place]}'"

    def _is_of_raters(self, place: int) -> bool:
        return self.names is not None and _names_raters(self.names[place])

    def _items_repeat(self, place: int) -> bool:
        return _RATINGS_PER_ITEM * self._n_different[place] <= len(self._lines)

    def _rater_place(self, item_at: int, others: Collection[int | None]) -> int | None:
        """Return the column with a usual name of raters, if items repeat. The values of years look the same."""
        if not self._items_repeat(item_at):
            return None
        free = (place for place in range(self.width) if place not in (item_at, *others))
        return next(filter(self._is_of_raters, free), None)

    def warn_of_raters(self, item_at: int, others: Collection[int | None]) -> None:
        """Warn if items repeat and a column that is not used seems to name the raters."""
        place = self._rater_place(item_at, others)
        if place is None:
            return
        warnings.warn(
            RaterColumnWarning(
                f"{self.file.path.name}: the items repeat, and the column {self._describe(place)} "
                "seems to name the raters. The ratings of each item were averaged, without the agreement between "
                "raters.",
                Advice(" To use it, give ", Argument("rater_column", self.name_of(place)), "."),
            ),
            stacklevel=3,
        )

    @property
    def width(self) -> int:
        return len(self._columns)

    def likely_ratings(self, item_at: int | None, others: Collection[int | None] = ()) -> list[int] | None:
        """Return the positions of the ratings among the remaining columns; None if it is ambiguous."""
        free = [place for place in range(self.width) if place not in (item_at, *others)]
        numeric = self._numeric(item_at, others)
        if len(numeric) == 1 or not numeric:
            return numeric or free[:1]
        names = [self.names[place] for place in numeric] if self.names else []
        lowered = [name.lower() for name in names]
        for usual in _RATING_NAMES:
            if usual in lowered:
                return [numeric[lowered.index(usual)]]
        return numeric if names and not columns_beside_dimensions(names) else None

    def _numeric(self, item_at: int | None, others: Collection[int | None]) -> list[int]:
        """Return the columns of numbers, without that of raters if items repeat."""
        numeric = [
            place
            for place in range(self.width)
            if place not in (item_at, *others) and _is_numeric(self._columns[place], self._decimals)
        ]
        if item_at is None or not self._items_repeat(item_at):
            return numeric
        return [place for place in numeric if not self._is_of_raters(place)] or numeric

    def rating_places(
        self,
        column: str | int | Sequence[str | int] | None,
        item_at: int | None,
        others: Collection[int | None] = (),
    ) -> list[int]:
        """Return the positions of the ratings: the given columns, or the likely ones; raise if it is ambiguous."""
        if column is not None:
            columns = [column] if isinstance(column, str | int) else list(column)
            places = [self.place(each) for each in columns]
            self._refuse_raters(places, item_at)
            return places
        likely = self.likely_ratings(item_at, others)
        if likely is not None:
            return likely
        numeric = self._numeric(item_at, others)
        names = [self.names[place] for place in numeric] if self.names else []
        candidates = name_some(names, most=8) if names else f"{len(numeric)} columns of numbers"
        rater_at = None if item_at is None else self._rater_place(item_at, (*others, *numeric))
        raise self.file.problem(
            f"the ratings may be in any of {candidates}.",
            Advice(
                " Name the column of the mean ratings, or those of all raters: ", Argument("rating_column", ...), "."
            ),
            *self._advise_raters(rater_at),
        )

    def _advise_raters(self, place: int | None) -> list[Advice]:
        """Return the advice to name the column of raters, if there seems to be one."""
        if place is None:
            return []
        return [Advice(" If each line is one rating, also give ", Argument("rater_column", self.name_of(place)), ".")]

    def _refuse_raters(self, places: Sequence[int], item_at: int | None) -> None:
        """Refuse a column of raters that is given as one of ratings."""
        if item_at is None or not self._items_repeat(item_at):
            return
        place = next(filter(self._is_of_raters, places), None)
        if place is not None:
            raise self.file.problem(
                f"the column {self._describe(place)} seems to name the raters, and is given as one of ratings.",
                Advice(" Give it as ", Argument("rater_column", self.name_of(place)), "."),
            )

    def numbers(self, place: int) -> Vector:
        """Return the numbers of a column, NaN if a field is empty; any other text is an error with its line."""
        texts, values = self._columns[place], []
        for text, line in zip(texts, self._lines, strict=True):
            number = np.nan if is_no_number(text) else parse_rating(text, self._decimals)
            if number is None and (problem := explain_number(text)):
                raise self.file.problem(problem, line=line.number)
            if number is None:
                raise self.file.problem(
                    f"{shorten(text)} is not a number. Ratings are numbers. If there is no rating, leave the cell "
                    "empty.",
                    line=line.number,
                )
            if np.isfinite(number):
                self._notation.check(text, number, line)
            values.append(number)
        doubtful = doubtful_number(texts, uses_commas=uses_decimal_commas(self._columns, self._delimiter))
        if doubtful:
            raise self.file.problem(explain_doubt(doubtful), line=self._lines[texts.index(doubtful)].number)
        numbers = np.array(values, dtype=np.float64)
        column = f"column {place}" if self.names is None else f"column '{self.names[place]}'"
        warn_of_missing_codes(numbers, f"{self.file.path.name}, {column}")
        return numbers


def _is_header(cells: Sequence[str]) -> bool:
    """Return whether a line names the columns: it has no rating, or names the items and numbers the raters.

    >>> _is_header(["Begriff", "Urteil"]), _is_header(["gut", "k.A."]), _is_header(["word", "1", "2", "3"])
    (True, False, True)
    >>> _is_header(["gut", ""]), _is_header(["word", ""]), _is_header(["", "rating"])
    (False, True, True)
    """
    names_items, others = cells[0].lower() in _NAMES_OF_ITEMS, [cell for cell in cells[1:] if cell]
    if names_items and len(cells) > 2 and list(cells[1:]) == [str(number) for number in range(1, len(cells))]:
        return True
    return not any(map(_is_value, filter(None, cells))) and (bool(others) or names_items)


def _is_value(cell: str) -> bool:
    """Return whether a cell is a rating, or marks a missing one."""
    return is_no_number(cell) or parse_rating(cell, ";") is not None or bool(explain_number(cell))


def _is_numeric(fields: Sequence[str], delimiter: str | None) -> bool:
    """Return whether most fields are ratings, including those that are refused because of their notation."""
    known = [field for field in fields if not is_no_number(field)]
    ratings = [field for field in known if parse_rating(field, delimiter) is not None or explain_number(field)]
    return len(ratings) > len(known) / 2
