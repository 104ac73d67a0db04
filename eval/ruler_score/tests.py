"""Examples for the metric's page on the Hub: keyword arguments and expected results."""

test_cases = [
    {
        "predictions": [" 1234567, 7654321."],
        "references": [["1234567", "7654321"]],
        "result": {"score": 100.0, "strict": 100.0, "n": 1},
    },
    {
        "predictions": ["12345 and 67890"],
        "references": [["12345", "55555"]],
        "tasks": "niah_multivalue",
        "result": {"score": 50.0, "strict": 0.0, "n": 1},
    },
    {
        "predictions": ["It is not known."],
        "references": [["no"]],
        "tasks": "qa_2",
        "result": {"score": 100.0, "strict": 0.0, "whole_word": 0.0, "n": 1},
    },
    {
        "predictions": ["<think>1111111</think><odpowiedź>brak</odpowiedź>"],
        "references": [["brak"]],
        "tasks": "niah_none",
        "languages": ["pl"],
        "result": {"score": 100.0, "strict": 100.0, "n": 1, "thinking": 1},
    },
    {
        "predictions": ["<Ответ>1234567 (планета)</Ответ>"],
        "references": [["1234567"]],
        "tasks": "niah_single",
        "languages": ["ru"],
        "compat": "authors",
        "result": {"score": 0.0, "strict": 100.0, "n": 1},
    },
]
