"""Loaded models: one for equal settings in a process, loaded once even when many threads ask at the same moment."""

import threading
from collections.abc import Callable, Hashable
from typing import Any

_models: dict[Hashable, Any] = {}
_loading: dict[Hashable, threading.Lock] = {}
_guard = threading.Lock()


def loaded(key: Hashable, load: Callable[[], Any]) -> Any:
    """Return the model under `key`; the first to ask loads it, the others wait for it. A failed load is tried anew."""
    with _guard:
        if key in _models:
            return _models[key]
        lock = _loading.setdefault(key, threading.Lock())
    with lock:
        with _guard:
            if key in _models:
                return _models[key]
        model = load()
        with _guard:
            _models[key] = model
        return model  # which may have been forgotten again


def clear_models() -> None:
    """Forget every loaded model, so that its memory is freed when the last call that uses it ends."""
    with _guard:
        _models.clear()
        _loading.clear()
