"""A module for `start_module`: says its arguments, and ends when its input does, if it is not to hang."""

import sys
import time

if __name__ == "__main__":
    print(*sys.argv[1:], flush=True)
    sys.stdin.read()
    if "hang" in sys.argv:
        time.sleep(600)
    sys.exit(5)
