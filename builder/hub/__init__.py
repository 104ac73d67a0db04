"""Publishing on the Hugging Face Hub, and bringing back: `ruler push` and `ruler fetch`.

plan.py         what is sent, decided from digests alone
repository.py   a repository's state, one commit, reading back, a tag
release.py      a release as what is sent; metric.py: the metric's Space
fetch.py        a release or a part of one, from the Hub or its cache
errors.py       one sentence for each way in which that fails
"""
