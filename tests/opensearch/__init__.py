"""A stand-in for an OpenSearch server of one node: the part of its API that an index with an alias needs, in memory.

It answers as OpenSearch's documentation says, and knows nothing of the site. What it does not know it refuses.
"""

from tests.opensearch.server import StandIn

__all__ = ["StandIn"]
