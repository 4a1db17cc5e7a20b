"""Budgets of what pages weigh and how soon they show: each that is not held has a sentence."""

from __future__ import annotations

from collections import Counter

from benchmarks.weights import ENCODINGS, Load, Showing, Weight, too_much


def weight(page, size):
    return Weight("demo", page, dict.fromkeys(ENCODINGS, size))


def showing(lcp, cls):
    load = Load(9, Counter(), lcp, cls)
    return Showing("demo", "deal", load, load)


def test_each_budget_that_is_not_held_has_a_sentence():
    held = too_much([weight("front page", 9_999), weight("deal", 99_999)], [showing(1.49, 0.019)])
    assert held == []
    assert too_much([weight("brand", 15_000)], [showing(1.9, 0.02)]) == [
        "demo: the brand weighs 15.0 KB, and has 15.0.",
        "demo: the deal takes 1.90 s (LCP), and has 1.9.",
        "demo: the deal takes 1.90 s (LCP, connected), and has 1.5.",
        "demo: the deal shifts by 0.020, and may by 0.02.",
    ]
