"""The plain path stays plain: few frames between a search and LAPACK."""

from __future__ import annotations

import traceback

import gpproj
from gpproj.linalg import factor
from tests.fitting import fit_mode

MOST = 18


def test_few_frames_between_a_search_and_lapack(monkeypatch):
    """From `forward_search` through the race and the divergence to what calls LAPACK."""
    X, y = gpproj.datasets.toy_sines(n=40, random_state=0)
    ref = fit_mode(X[:, 4:], y)
    stacks, plain = [], factor._factorise_lapack

    def noted(*given):
        names = [frame.name for frame in traceback.extract_stack()]
        stacks.append(names[names.index("forward_search") : -1])
        return plain(*given)

    monkeypatch.setattr(factor, "_factorise_lapack", noted)
    gpproj.forward_search(ref, 2, progress=False)
    raced = [names for names in stacks if {"race", "leave_one_out"} <= set(names)]
    assert raced
    # The last frame is the one of what was replaced here.
    longest = max(raced, key=len)
    assert len(longest) + 1 <= MOST, longest
