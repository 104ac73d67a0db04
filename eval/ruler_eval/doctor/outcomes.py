"""The outcomes of an examination and the states of its conditions, in words; and exit codes."""

from __future__ import annotations

OUTCOMES = {
    # one server
    "sound": "Sound.",
    "engine": "Engine.",
    "unknown": "Cannot tell.",
    # two deployments
    "different": "Different deployment.",
    "same": "",  # its headline begins so
    "noisy": "Too noisy to tell.",
    "few": "Cannot tell.",
}
"""The first words of a verdict."""
STATES = {
    "engine": "changes answers",
    "suspect": "cannot tell",
    "same": "no change",
    "unchecked": "not checked",
}
"""What a condition does."""
EXIT_CODES = {
    "sound": 0,
    "engine": 1,
    "unknown": 3,
    "different": 1,
    "same": 0,
    "noisy": 3,
    "few": 3,
}
