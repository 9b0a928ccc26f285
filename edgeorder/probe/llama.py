"""The process of the local model: a JSON request on each line of stdin, its answer on a line of stdout.

Run as `python -m edgeorder.probe.llama FILE CONTEXT THREADS SECONDS`. Once the model is loaded it says
`{"ready": address, "process": id}`, or `{"failed": why}`. It ends with its stdin, and so with the process that started
it, however that ends.
"""

import json
import os
import queue
import secrets
import signal
import sys
import threading
from typing import Any

from edgeorder.probe.forcing import forced


def main() -> None:
    """Load the model and answer until stdin ends."""
    file, context, threads, seconds = sys.argv[1], *map(int, sys.argv[2:])
    say = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what llama.cpp prints is no answer
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    # Loading lets no other thread run. If it hangs and nobody is left to end it, the alarm does.
    alarm = getattr(signal, "alarm", lambda seconds: None)
    alarm(seconds)
    key = secrets.token_hex()
    try:
        server = _load(file, context, threads, key)
    except (RuntimeError, ImportError) as error:
        print(json.dumps({"failed": str(error)}), file=say, flush=True)
        return
    alarm(0)
    print(json.dumps({"ready": server.listening_address, "process": os.getpid()}), file=say, flush=True)
    while True:
        request = json.loads(requests.get())
        if "force" in request:
            found = forced(server, key, request["prompt"], request["force"])
        else:
            found = server.handle_completions(request)
        print(json.dumps(found), file=say, flush=True)


def _listen(requests: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)  # whatever the model is at


def _load(file: str, context: int, threads: int, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0  # the same numbers on every machine
    params.swa_full = True  # a sliding window that forgot the rest could not take up a prefix again
    params.cache_ram_mib = 0
    params.api_keys = [key]  # its server listens on a port of this machine, on which none but us may ask
    params.warmup = False
    params.verbosity = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
