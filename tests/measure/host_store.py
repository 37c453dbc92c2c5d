"""A program: an object store in memory, on all addresses of its host; `host_store.py PORT BUCKET`.

Moto asks whether an object is there, and puts it, in two steps: two requests to put it if it is not there
might both succeed. A real store does not do that, so here one request is answered at a time.
"""

import io
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

Environment = dict[str, Any]


class OneAtATime:
    """What a client sends is read before, because it may never come."""

    def __init__(self, application: Callable[[Environment, Any], Iterable[bytes]]) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environment: Environment, start_response: Any) -> Iterable[bytes]:
        length = environment.get("CONTENT_LENGTH")
        if length or environment.get("wsgi.input_terminated"):
            content = environment["wsgi.input"].read(*([int(length)] if length else []))
            environment |= {"wsgi.input": io.BytesIO(content), "CONTENT_LENGTH": str(len(content))}
        with self._lock:
            return list(self._application(environment, start_response))


def main(port: int, bucket: str) -> None:
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("0.0.0.0", port, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made = urllib.request.Request(f"http://127.0.0.1:{port}/{bucket}", method="PUT")
    urllib.request.urlopen(made).read()
    print("serving", flush=True)
    sys.stdin.read()  # ends when whoever has started this has gone


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
