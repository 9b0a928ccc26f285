"""A placement as a RERANKER span by OpenInference's conventions, where OpenTelemetry records."""

import json
from typing import Any

from opentelemetry import trace as telemetry

from edgeorder.placement import Placement

_MOST = 100  # chunks that a span tells; backends cut spans with many attributes


def send_span(placement: Placement) -> None:
    """Send the span of a placement, if somebody records spans. It holds ids and scores, and no text."""
    provider = telemetry.get_tracer_provider()
    if isinstance(provider, telemetry.ProxyTracerProvider):  # nobody has set one up
        return
    span = provider.get_tracer("edgeorder").start_span("edgeorder", start_time=int(placement.call.time * 1e9))
    if not span.is_recording():
        return
    try:
        span.set_attributes(attributes(placement))
    finally:
        span.end()


def attributes(placement: Placement) -> dict[str, Any]:
    """Return the attributes: what came in by rank, what went out by position."""
    record = placement.record
    found: dict[str, Any] = {
        "openinference.span.kind": "RERANKER",
        "reranker.top_k": len(record.placed),
        "edgeorder.order": record.order,
        "edgeorder.reason": record.reason,
    }
    if record.scorer:
        found["reranker.model_name"] = record.scorer
    if record.trace_id is not None:
        found["edgeorder.trace_id"] = record.trace_id
    ranked = sorted(record.chunks, key=lambda chunk: chunk.rank)
    for side, chunks in (("input", ranked), ("output", record.placed)):
        for at, chunk in enumerate(chunks[:_MOST]):
            document = f"reranker.{side}_documents.{at}.document"
            found[f"{document}.id"] = chunk.id
            score = chunk.score if chunk.rerank_score is None else chunk.rerank_score
            if score is not None:
                found[f"{document}.score"] = score
            told = {"rank": chunk.rank, "position": chunk.position, "dropped": chunk.dropped}
            found[f"{document}.metadata"] = json.dumps(told)
    return found
