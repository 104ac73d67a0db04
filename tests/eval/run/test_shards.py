"""Every process divides a run into the same shards."""

from __future__ import annotations

import pytest

from ruler_common.errors import RulerError
from ruler_eval.run.records import Shard
from ruler_eval.score.own_run import notes_of_shards


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_a_shard_is_checked(text):
    with pytest.raises(RulerError, match="such as 2/4"):
        Shard.parse(text)


@pytest.mark.parametrize(
    ("shards", "named"), [(["2/3"], "2 of 3"), (["1/3", "3/3"], "1, 3 of 3"), (["1/2", "2/2"], "")]
)
def test_a_run_that_lacks_shards_has_a_note(shards, named):
    notes = notes_of_shards({"sessions": [{"shard": shard} for shard in shards]})
    expected = f"Only shard {named} was scored: name the RUN folder, or all its shards"
    assert notes == ([expected] if named else [])
    assert notes_of_shards({"sessions": [{"shard": None}, {"shard": "1/2"}]}) == []


def test_shards_divide_names_evenly_whatever_their_order():
    sizes = {f"file{number}": 1000 * number for number in range(1, 30)}
    turned = dict(reversed(sizes.items()))
    parts = [Shard(number, 4).chosen(sizes) for number in range(1, 5)]
    assert parts == [Shard(number, 4).chosen(turned) for number in range(1, 5)]
    assert sorted(name for part in parts for name in part) == sorted(sizes)
    loads = [sum(sizes[name] for name in part) for part in parts]
    assert max(loads) - min(loads) <= 2000
    assert str(Shard.parse("2/4")) == "2/4"
