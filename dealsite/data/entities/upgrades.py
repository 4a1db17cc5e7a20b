"""What makes an item of an older schema one of the next: pure, harmless to repeat, keeping what it does not know.

    0  everything written before items noted their schema: release 0.2.0, and the builds before and after it
    1  the same shapes, noted

No type has had another shape since, so there is no upgrade yet. docs/upgrading.md says how to add one.
"""
