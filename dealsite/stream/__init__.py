"""The table's stream: what changed, in order, and the projections that are made of it.

A projection (the lake, the search index) is a second form of what the table holds. A consumer feeds it each change
at least once; with its checkpoint it keeps where it stands, so that killed anywhere it ends equal to the table.
"""
