"""The colours of scores: cividis, made for colour blindness and for print in grey, 0 … 100.

    colour(97.4), text_colour(97.4)          # ("#f9e23b", "#000000")

Nuñez, Anderton and Renslow (2018); the polynomials are those of d3-scale-chromatic.
"""

from __future__ import annotations

# Red, green and blue: coefficients of the powers of the share, from the constant up.
_POLYNOMIALS = (
    (-4.54, -35.34, 2381.73, -6402.7, 7024.72, -2710.57),
    (32.49, 170.73, 52.82, -131.46, 176.58, -67.37),
    (81.24, 442.36, -2482.43, 6167.24, -6614.94, 2475.67),
)


def colour(score: float) -> str:
    """The colour of a score of 0 … 100, as #rrggbb."""
    return "#" + "".join(f"{part:02x}" for part in _parts(score))


def text_colour(score: float) -> str:
    """Black or white, whichever contrasts more with the score's colour (4.5 or more)."""
    return text_on(colour(score))


def text_on(background: str) -> str:
    """Black or white, whichever contrasts more with a colour, given as #rrggbb."""
    light = _luminance([int(background[place : place + 2], 16) for place in (1, 3, 5)])
    return "#000000" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "#ffffff"


def _parts(score: float) -> list[int]:
    share = min(1.0, max(0.0, score / 100))
    values = (sum(c * share**n for n, c in enumerate(terms)) for terms in _POLYNOMIALS)
    return [min(255, max(0, round(value))) for value in values]


def _luminance(parts: list[int]) -> float:
    """WCAG's relative luminance."""
    shares = (part / 255 for part in parts)
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
