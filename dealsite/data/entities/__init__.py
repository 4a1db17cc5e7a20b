"""The types of items that are stored, with their schemas."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dealsite.data.table.convert import Item


@dataclass(frozen=True, slots=True)
class Entity:
    """A type of item: the schema of its shape, and what makes each schema of the one before."""

    schema: int = 1
    upgrades: tuple[Callable[[Item], Item], ...] = ()


_TYPES = """
    Deal Offer Price Draft Trash Version DealChanges Brand BrandCounts BrandLetter Category CategoryCounts FrontPage
    EditorsChoicePage FeaturedVersion FeaturedPlan Years Days DayCount BrandLike CategoryLike BrandWatch CategoryWatch
    User Profile TwoFactor FactorOwner UsedChallenge EmailGuard UserCount Session Presence Throttle Job Import
    ImportLayout JobSegment BulkChunk BulkRow Message SavedQuestion SavedViews CartHead CartLine Order AuditEntry
    SecurityEvent FailureCount Heartbeat Payment PaymentTotals PaymentLoad PaymentLoadSegment TransactionGuard
    TestCharge Migration
"""
ENTITIES: Mapping[str, Entity] = {name: Entity() for name in _TYPES.split()}
