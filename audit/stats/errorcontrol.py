"""Paying for every look: Holm's correction within groups that share the chance of a false alarm (STATISTICS.md 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def holm(ps: Sequence[float]) -> NDArray[np.float64]:
    """Adjusted p-values: below alpha with chance at most alpha if any true null is, however the tests depend."""
    raw = np.asarray(ps, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    steps = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1.0, steps)
    return adjusted


def holm_in_groups(groups: Sequence[Sequence[float]]) -> list[NDArray[np.float64]]:
    """Holm within each group, each group with an equal share of alpha: a group of many does not drown one of few."""
    filled = sum(1 for group in groups if group)
    return [np.minimum(1.0, holm(group) * filled) for group in groups]


def benjamini_hochberg(ps: Sequence[float]) -> NDArray[np.float64]:
    """False discovery rates, for display only: no verdict rests on them."""
    raw = np.asarray(ps, dtype=np.float64)
    order = np.argsort(raw, kind="stable")[::-1]
    ranks = np.arange(len(raw), 0, -1)
    steps = np.minimum.accumulate(raw[order] * len(raw) / ranks)
    rates = np.empty_like(raw)
    rates[order] = np.minimum(1.0, steps)
    return rates
