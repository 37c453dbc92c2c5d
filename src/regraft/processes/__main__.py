"""`python -m regraft.processes MODULE …`: runs the module as `python -m` does, and ends with its parent."""

import runpy
import sys

from regraft.processes.collecting import collect_seldom
from regraft.processes.orphans import end_with_parent

if __name__ == "__main__":
    collect_seldom()
    end_with_parent()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
