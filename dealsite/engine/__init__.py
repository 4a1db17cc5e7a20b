"""The embedded DynamoDB engine: run it, keep it running, mend its stream, back it up."""

from dealsite.engine.running import running_engine
from dealsite.engine.stream import mend_stream

__all__ = ["mend_stream", "running_engine"]
