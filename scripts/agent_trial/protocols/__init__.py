"""The protocols that agents speak with their models: one module each.

A protocol decodes a request (`decode`) and encodes an answer: as one JSON value (`whole`) and as
server-sent events (`events`).
"""

from . import anthropic, chat, gemini, responses

ALL = [anthropic, responses, chat, gemini]
