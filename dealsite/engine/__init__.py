"""The embedded DynamoDB engine: run it, keep it running, mend its stream, back it up."""

from dealsite.engine.server import running_engine
from dealsite.engine.stream import repair_stream

__all__ = ["repair_stream", "running_engine"]
