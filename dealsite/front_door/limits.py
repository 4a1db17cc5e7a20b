"""How long a web process waits for a client, and how much it takes from one."""

from dataclasses import dataclass

from django.conf import settings

# What anybody may send: a form of DATA_UPLOAD_MAX_MEMORY_SIZE with the lines between its fields.
SMALL_BYTES = 1 << 20
HEADER_BYTES = 32_768
HEADER_COST = 32  # bytes that each header counts besides its own, as in HTTP/2: a short one takes memory too
PIPELINED = 16  # requests that wait on one connection for those before them
BODY_COST = 8  # bytes that may be sent for each byte of a body: sent alone, as a chunk, it takes six
# What a client has to send, and to take, on average of each stretch of time: half of what EDGE gives a phone.
BYTES_A_SECOND = 2_048
# Who waits longer for a thread gets 503. A request's deadline for data calls counts the waiting.
QUEUE_SECONDS = 1.0
QUEUED = 200
BACKLOG = 512  # connections that the kernel holds while no process takes them


@dataclass(frozen=True)
class Limits:
    """Of one web process: seconds of patience, connections of one address (0 for any number), and in all."""

    patience: float
    per_address: int
    connections: int

    @property
    def longest(self) -> float:
        """Seconds for one body, or one answer, however steadily it moves: 15 minutes by default."""
        return 90 * self.patience


def from_settings() -> Limits:
    """Return the limits of this site: behind a proxy all connections come from its address."""
    return Limits(
        patience=settings.DEALSITE_CLIENT_SECONDS,
        per_address=0 if settings.DEALSITE_TRUSTED_PROXIES else settings.DEALSITE_CONNECTIONS_PER_ADDRESS,
        connections=settings.DEALSITE_CONNECTIONS,
    )
