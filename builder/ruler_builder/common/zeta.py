"""Riemann's zeta function, by which the frequent words task shares out its words."""

from __future__ import annotations

import math


def zeta(alpha: float) -> float:
    """The sum of `rank ** -alpha` over all ranks; at 2, the usual alpha, without scipy.

    That takes a fifth of a second to import. Euler's value is the same number to the last bit.
    """
    if alpha == 2:
        return math.pi**2 / 6
    from scipy.special import zeta

    return float(zeta(alpha))
