r"""Ridge regression with its penalty chosen from left-out scores, in closed form.

For a penalty α, the residual of a left-out row is :math:`r_i / (1 - h_i)` with the leverage
:math:`h_i = 1/n + \tilde x_i^\top (S + \alpha I)^{-1} \tilde x_i`: no refitting, one matrix product for all penalties
(Golub, Heath & Wahba 1979). From a hundred rows per dimension on, every row is assigned the mean leverage (generalised
cross-validation), so that all sums come from the decomposition. The result is the score
:math:`s_i = w_{-i}^\top (x_i - \bar x)` of every row on the direction found without it.

A direction has no scale, so these scores are judged by their correlation r with the labels: given the best line through
them, the labels have the log-likelihood :math:`-\tfrac n2 \log(1 - r^2)`. A few rows do not determine the penalty well,
so a prior is added. Ridge regression is optimal for coefficients of variance :math:`\tau^2` and noise of variance
:math:`\sigma^2` if :math:`\alpha = \sigma^2 / \tau^2`. The rows then explain the share
:math:`1 / (1 + \alpha / m)` of the variance of the labels, where m is the mean squared distance of a row from the mean.
A priori, this share is assumed to be a quarter for scores and an eighth for two classes, which contain less information
about a row: α is log-normal around 3m or 7m, with a standard deviation of one in the natural logarithm. The penalty
with the highest posterior is chosen. In units of m, neither the prior nor the best penalty depends on the number of
rows.

Rows that belong together (the two halves of a pair, sentences about one occupation) reveal each other's labels. If they
were left out one at a time, the penalty would be far too small. With groups g, the whole group is left out, by one
small solve per group and penalty: :math:`\hat e_g = (I - H_{gg})^{-1} r_g`. The common part of rows with different
labels does not separate the labels. So for groups with both labels, m is the mean squared distance of a row from the
mean of its group, in the prior and for the lowest penalty to try.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from densray._arrays import (
    Array,
    array_on,
    in_blocks,
    namespace,
    symmetric_eigh,
    take_rows,
    to_host,
    whole_rows,
)
from densray.errors import LabelError, VectorError
from densray.moments import Moments

#: Penalties to try, in units of the mean squared distance of a row from the mean; with groups, also lower ones.
RIDGE_PENALTIES = np.logspace(-4, 4, 33)

#: Share of the variance of the labels that the rows are expected to explain.
EXPLAINED_CLASSES, EXPLAINED_SCORES = 1 / 8, 1 / 4

#: Lower limit for the share of the spread that lies within groups, since twins may have equal vectors.
LEAST_SHARE = 1e-6

#: Rows per dimension from which on every row has the mean leverage, at most 1 %: this saves a pass over the rows.
MANY_ROWS = 100

#: Correlations above this count as 1, up to rounding.
LARGEST_CORRELATION = 1.0 - 1e-12


def penalties_within(share: float) -> NDArray[np.float64]:
    """Return the penalties to try if this share of the spread lies within groups: the grid, continued below by it.

    >>> [f"{one:.1e}" for one in penalties_within(0.02)[:3]], f"{penalties_within(0.02)[7]:.1e}"
    (['1.8e-06', '3.2e-06', '5.6e-06'], '1.0e-04')
    """
    step = np.log10(RIDGE_PENALTIES[1] / RIDGE_PENALTIES[0])
    count = max(int(np.ceil(-np.log10(share) / step - 1e-9)), 0)
    lower = RIDGE_PENALTIES[0] * 10.0 ** (-step * np.arange(count, 0, -1))
    return np.concatenate([lower, RIDGE_PENALTIES])


def log_prior(
    *, two_classes: bool, share: float = 1.0, penalties: NDArray[np.float64] = RIDGE_PENALTIES
) -> NDArray[np.float64]:
    """Return the logarithm of the prior density of each of the penalties, up to a constant.

    `share` is the share of the spread of the rows that lies within groups with both labels.

    >>> [round(float(RIDGE_PENALTIES[log_prior(two_classes=each).argmax()]), 1) for each in (True, False)]
    [5.6, 3.2]
    """
    explained = EXPLAINED_CLASSES if two_classes else EXPLAINED_SCORES
    return np.asarray(-0.5 * np.log(penalties / share * explained / (1.0 - explained)) ** 2)


def ridge_direction(
    X: Array,
    values: Array,
    weight: Array | None,
    *,
    two_classes: bool,
    groups: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Return the ridge coefficients of `values` on the rows of `X`, and the chosen penalty.

    A weight counts as that many copies of its row; leave-one-out leaves out one copy. Rows of one group, numbered
    from 0, are left out together, with all their copies.
    """
    if X.shape[0] < X.shape[1]:
        basis = _row_space(X)
        if basis is not None:
            rows, axes = basis
            direction, penalty = ridge_direction(rows, values, weight, two_classes=two_classes, groups=groups)
            return to_host(axes) @ direction, penalty
    xp = namespace(X)
    targets = xp.astype(values, xp.float64)
    weights = xp.ones_like(targets) if weight is None else xp.astype(weight, xp.float64)
    masses = xp.where(weights < 1.0, weights, xp.ones_like(weights))  # a weight below 1 is left out entirely
    copies = weights / masses
    count = float(xp.sum(copies))
    targets = targets - xp.sum(weights * targets) / float(xp.sum(weights))
    factors = xp.astype(weights * targets, X.dtype)[None, :]  # they sum to zero, so the mean cancels
    moments, covariance = Moments.with_sums(X, None if weight is None else xp.astype(weights, X.dtype), factors)
    rows = _Rows(X, xp.astype(moments.mean, X.dtype), targets, weights, masses)
    values, vectors = symmetric_eigh(moments.scatter)
    eigenvalues = np.maximum(to_host(values), 0.0)
    share = 1.0
    if groups is not None:
        if not np.ptp(groups):
            raise LabelError(
                "all rows are in one group, so no rows can be held out to choose the penalty of ridge. Give at least "
                "two groups, or leave groups out."
            )
        between, n_mixed = rows.scatter_of_means(groups)
        within = 1.0 - between / max(float(eigenvalues.sum()), np.finfo(np.float64).tiny)
        # each group mean takes away one degree of freedom: groups drawn at random have a share of one
        share = max(within * (count - 1.0) / max(count - max(n_mixed, 1), 1.0), LEAST_SHARE)
    relative = penalties_within(share)
    penalties = relative * (np.sum(eigenvalues) / count)
    shrunk = 1.0 / (eigenvalues[:, None] + penalties[None, :])  # (d, penalties)
    projected = to_host(vectors.T @ covariance[0, :])
    coefficients = projected[:, None] * shrunk
    if groups is not None:
        correlations = rows.correlations_without_groups(to_host(vectors), coefficients, shrunk, groups)
    elif weight is None and X.shape[0] >= MANY_ROWS * X.shape[1]:
        spread = float(xp.sum(targets * targets))
        correlations = _mean_leverage_correlations(projected, eigenvalues, shrunk, count, spread)
    else:
        correlations = rows.left_out_correlations(vectors, coefficients, shrunk)
    best = _choose(correlations, count, log_prior(two_classes=two_classes, share=share, penalties=relative))
    return to_host(vectors @ array_on(coefficients[:, best], vectors)), float(penalties[best])


def _row_space(X: Array) -> tuple[Array, Array] | None:
    """Return the centred rows in as many coordinates as there are rows, and the axes of these coordinates.

    Coefficients are combinations of the centred rows, so these coordinates are enough, and far fewer than d if there
    are few rows. None if a row is not finite: the caller names it.
    """
    xp = namespace(X)
    rows = xp.astype(whole_rows(X), xp.float64)
    rows = rows - xp.mean(rows, axis=0)
    if not bool(xp.all(xp.isfinite(rows))):
        return None
    axes = xp.linalg.qr(rows.T)[0]  # (d, n)
    return rows @ axes, axes


def ridge_of_moments(
    scatter: NDArray[np.float64], covariance: NDArray[np.float64], spread: float, count: int, *, two_classes: bool
) -> tuple[NDArray[np.float64], float]:
    """Return the coefficients and the penalty of :func:`ridge_direction`, from sums over many rows.

    Every row is assigned the mean leverage, as in :func:`ridge_direction` from a hundred rows per dimension on.

    Parameters
    ----------
    scatter : array of shape (d, d)
        Sum of the products of centred rows.
    covariance : array of shape (d,)
        Sum of the rows times their centred labels.
    spread : float
        Sum of the squared centred labels.
    count : int
        Number of rows.
    two_classes : bool
    """
    values, vectors = symmetric_eigh(scatter)
    eigenvalues = np.maximum(values, 0.0)
    penalties = RIDGE_PENALTIES * (np.sum(eigenvalues) / count)
    shrunk = 1.0 / (eigenvalues[:, None] + penalties[None, :])
    projected = vectors.T @ covariance
    correlations = _mean_leverage_correlations(projected, eigenvalues, shrunk, count, spread)
    best = _choose(correlations, count, log_prior(two_classes=two_classes))
    return vectors @ (projected * shrunk[:, best]), float(penalties[best])


def _mean_leverage_correlations(
    projected: NDArray[np.float64],
    eigenvalues: NDArray[np.float64],
    shrunk: NDArray[np.float64],
    count: float,
    spread: float,
) -> NDArray[np.float64]:
    """Return the correlation of labels and left-out scores for each penalty, without another pass over the rows.

    Every row has the mean leverage h: s = t (c - g) + g f with c = n / (n - 1), g = 1 / (1 - h) and the fitted values
    f. Sums of f with the labels t and with itself are sums over eigenvalues.
    """
    with_labels = projected**2 @ shrunk
    with_itself = (projected**2 * eigenvalues) @ shrunk**2
    grown = 1.0 / (1.0 - (1.0 + eigenvalues @ shrunk) / count)
    rest = count / (count - 1.0) - grown
    products = spread * rest + grown * with_labels
    squares = rest**2 * spread + 2.0 * rest * grown * with_labels + grown**2 * with_itself
    return np.asarray(products / np.sqrt(np.maximum(squares * spread, np.finfo(np.float64).tiny)))


@dataclass(frozen=True)
class _Rows:
    """Rows with their centred labels, processed in blocks, with their weights and the weights that are left out."""

    X: Array
    mean: Array
    targets: Array
    weights: Array
    masses: Array

    def left_out_correlations(
        self, vectors: Array, coefficients: NDArray[np.float64], shrunk: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the correlation of labels and left-out scores for each penalty; all inputs are in the eigenbasis."""
        xp, total = namespace(self.X), float(namespace(self.X).sum(self.weights))
        slopes, inverse = (array_on(each, self.X, dtype=self.X.dtype) for each in (coefficients, shrunk))
        basis = xp.astype(vectors, self.X.dtype)
        products, squares = np.zeros(1), np.zeros(1)  # Σ w t s and Σ w s²

        def of_block(block: slice) -> tuple[Array, Array]:
            U = (self.X[block, :] - self.mean) @ basis
            target, one = self.targets[block][:, None], self.masses[block][:, None]
            residual = target - xp.astype(U @ slopes, xp.float64)
            leverage = one * (xp.astype((U * U) @ inverse, xp.float64) + 1.0 / total)
            # subtract the label's own share in the mean of the others: n/(n-1) y - r/(1-h) = n/(n-1) w₋ᵢ(x - mean)
            own = target * (total / xp.clip(total - one, 1e-8, None))
            scores = own - residual / xp.clip(1.0 - leverage, 1e-8, None)
            return (self.weights[block] * self.targets[block]) @ scores, self.weights[block] @ (scores * scores)

        for product, square in in_blocks(self.X, of_block):
            products, squares = products + to_host(product), squares + to_host(square)
        return self._correlations(products, squares)

    def correlations_without_groups(
        self,
        vectors: NDArray[np.float64],
        coefficients: NDArray[np.float64],
        shrunk: NDArray[np.float64],
        groups: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return :func:`left_out_correlations` with whole groups left out."""
        weights, targets = to_host(self.weights), to_host(self.targets)
        total = float(weights.sum())
        products, squares = np.zeros(1), np.zeros(1)
        for members in _groups_of_one_size(groups, self.X.shape[1]):  # (groups, members)
            U = self._centred(members.ravel()) @ vectors
            U = U.reshape(*members.shape, -1)
            w, t, root = weights[members], targets[members], np.sqrt(weights[members])
            residual = root[:, None] * np.swapaxes(
                t[:, :, None] - U @ coefficients, 1, 2
            )  # (groups, penalties, members)
            # H_gg for every penalty: √w (1/W + x S⁻¹ x) √w
            within = _products_within(U, shrunk) + 1.0 / total
            left = np.eye(members.shape[1]) - root[:, None, :, None] * within * root[:, None, None, :]
            try:
                errors = np.linalg.solve(left, residual[..., None])[..., 0] / root[:, None]
            except np.linalg.LinAlgError as error:
                raise VectorError(
                    "almost all the weight is on one group, so an axis cannot be fitted without that group. Raise the "
                    "sample_weight of the other rows, or leave groups out."
                ) from error
            # the prediction without the group, minus the mean of the other labels: w₋g (x - mean of the others)
            others = -np.sum(w * t, axis=1) / np.maximum(total - w.sum(axis=1), 1e-8)
            scores = t[:, None] - errors - others[:, None, None]
            # about the mean of all rows, since the mean of the others depends on the group
            scores = scores - np.sum(w[:, None] * scores, axis=2, keepdims=True) / total
            products = products + np.einsum("gm,gpm->p", w * t, scores)
            squares = squares + np.einsum("gm,gpm->p", w, scores**2)
        return self._correlations(products, squares)

    def scatter_of_means(self, groups: NDArray[np.int64]) -> tuple[float, int]:
        """Return the scatter of the means of groups with several labels, and the number of these groups."""
        weights, targets, between, n_mixed = to_host(self.weights), to_host(self.targets), 0.0, 0
        for each in _groups_of_one_size(groups, self.X.shape[1]):  # (groups, members)
            members = each[np.ptp(targets[each], axis=1) > 0.0]
            if len(members):
                w = weights[members]
                sums = np.einsum("gm,gmd->gd", w, self._centred(members.ravel()).reshape(*members.shape, -1))
                between += float(np.sum(np.sum(sums * sums, axis=1) / w.sum(axis=1)))
                n_mixed += len(members)
        return between, n_mixed

    def _centred(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return some rows minus the mean, on the host."""
        rows = whole_rows(take_rows(self.X, array_on(places, self.X))) - self.mean
        return np.asarray(to_host(rows), dtype=np.float64)

    def _correlations(self, products: NDArray[np.float64], squares: NDArray[np.float64]) -> NDArray[np.float64]:
        squares = squares * float(namespace(self.X).sum(self.weights * self.targets**2))
        return np.asarray(products / np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny)))


#: Numbers in memory at once for groups of one size.
GROUP_ENTRIES = 2**22


def _groups_of_one_size(groups: NDArray[np.int64], width: int) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of groups of one size, one group per line, limited by memory."""
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    sizes = np.array([len(part) for part in parts])
    for size in np.unique(sizes).tolist():
        alike = np.array([parts[number] for number in np.flatnonzero(sizes == size).tolist()])
        step = max(1, GROUP_ENTRIES // (size * width * min(size, len(RIDGE_PENALTIES))))
        yield from (alike[start : start + step] for start in range(0, len(alike), step))


def _products_within(U: NDArray[np.float64], shrunk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x S⁻¹ y of the rows of each group, for every penalty: shape (groups, penalties, members, members)."""
    if U.shape[1] > shrunk.shape[1]:  # large groups: a product per penalty
        return np.stack([(U * one) @ np.swapaxes(U, 1, 2) for one in shrunk.T], axis=1)
    return np.moveaxis((U[:, :, None] * U[:, None]) @ shrunk, 3, 1)


def _choose(correlations: NDArray[np.float64], count: float, prior: NDArray[np.float64]) -> int:
    """Return the index of the penalty with the highest posterior, from the correlations of left-out scores."""
    likelihood = -0.5 * count * np.log1p(-(np.clip(correlations, 0.0, LARGEST_CORRELATION) ** 2))
    return int(np.argmax(likelihood + prior))
