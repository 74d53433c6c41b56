"""Holm's correction within groups that share the chance of a false alarm (STATISTICS.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.stats.family import Outcome


def holm(ps: Sequence[float], weights: Sequence[float] | None = None) -> NDArray[np.float64]:
    """Adjusts p-values: any true null is below alpha with chance at most alpha, however the tests depend.

    Args:
        ps: raw p-values.
        weights: shares of alpha, fixed before the data; equal if not given (Holm 1979, section 4).
    """
    raw = np.asarray(ps, dtype=np.float64)
    share = np.ones_like(raw) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(raw / share, kind="stable")
    left = np.cumsum(share[order][::-1])[::-1]
    steps = np.maximum.accumulate(raw[order] / share[order] * left)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def holm_in_groups(groups: Sequence[Sequence[Outcome]]) -> list[NDArray[np.float64]]:
    """Adjusts within each group, which has an equal share of alpha: a group of many does not drown one of few."""
    filled = sum(1 for group in groups if group)
    return [
        np.minimum(1.0, holm([each.p for each in group], [each.weight for each in group]) * filled) for group in groups
    ]


def benjamini_hochberg(ps: Sequence[float]) -> NDArray[np.float64]:
    """Returns false discovery rates, for display only: no verdict rests on them."""
    raw = np.asarray(ps, dtype=np.float64)
    order = np.argsort(raw, kind="stable")[::-1]
    ranks = np.arange(len(raw), 0, -1)
    steps = np.minimum.accumulate(raw[order] * len(raw) / ranks)
    rates = np.empty_like(raw)
    rates[order] = np.minimum(1.0, steps)
    return rates
