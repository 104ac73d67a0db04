"""The outcomes of an examination: the first words of its verdict, and its exit code."""

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
EXIT_CODES = {
    "sound": 0,
    "engine": 1,
    "unknown": 3,
    "different": 1,
    "same": 0,
    "noisy": 3,
    "few": 3,
}
