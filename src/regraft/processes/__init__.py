"""Processes that we start: how each is guarded, asked to end, and killed.

No process that we start outlives us, however we end. `children` starts modules of ours, which notice by
themselves that their parent is gone (`orphans`) and get time to say goodbye. `programs` starts programs that
are not ours, such as ZooKeeper, under a guard that kills them. This package knows nothing of what runs in
the processes, and it imports no other package.
"""
