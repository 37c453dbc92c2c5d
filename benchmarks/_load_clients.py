"""Mosquitto's own clients (C, system package `mosquitto-clients`) as a load, to compare ours with.

Of the ready-made clients that were tried (these, mqtt from npm, paho-mqtt from PyPI) they drove Mosquitto
fastest, so they are the ones that our load is measured against in every run.
"""

import shutil
import subprocess
import tempfile
import time

from benchmarks._peers import PeerFailed, Unavailable

INFLIGHT = 1000


def clients_rate(port: int, count: int, payload: int) -> float:
    """Messages per second at QoS 1, from the publisher's start to the subscriber's end."""
    with tempfile.TemporaryFile() as lines:
        lines.write((b"x" * payload + b"\n") * count)
        lines.seek(0)
        to = ["-h", "127.0.0.1", "-p", str(port), "-q", "1", "-t", "bench"]
        subscribe = [_found("mosquitto_sub"), *to, "-C", str(count)]
        publish = [_found("mosquitto_pub"), *to, "-l", "-M", str(INFLIGHT)]
        with subprocess.Popen(subscribe, stdout=subprocess.DEVNULL, start_new_session=True) as subscriber:
            try:
                time.sleep(1.0)  # it does not say when it has subscribed
                start = time.monotonic()
                subprocess.run(publish, stdin=lines, check=True, timeout=120)
                subscriber.wait(60)
                return count / (time.monotonic() - start)
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                raise PeerFailed(f"Mosquitto's clients did not finish: {error}") from error
            finally:
                subscriber.kill()


def _found(program: str) -> str:
    if not (path := shutil.which(program)):
        raise Unavailable("as root: apt-get install mosquitto-clients")
    return path
