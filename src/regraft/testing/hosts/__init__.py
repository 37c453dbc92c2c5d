"""A lab of hosts on one machine: each has an address, files, processes and a clock of its own.

    with Lab(8, latency_ms=20) as lab:
        first, *_, last = lab.hosts
        first.start(["regraft", "broker", ...], log=folder / "first.log")
        lab.partition({first}, {last})
        ...
        lab.heal()

A host is a set of nameless namespaces: network, processes, mounts and host name. A TUN device with the
address 10.77.0.n is its only way out, and one router in a process of its own carries the packets between
these devices, with latency, jitter, loss and cuts for each ordered pair (`rules`). Tests change them
while it runs.

Everything ends with the lab, and with the process that made it, however that ends: each host's first
process waits for the router to end, the router for the lab's process, and the kernel kills what is left
of a host when its first process has ended. It needs Linux, root, /dev/net/tun and `ip`; `unavailable`
says what is missing.
"""

from regraft.testing.hosts.host import LabHost
from regraft.testing.hosts.lab import Lab, unavailable
from regraft.testing.hosts.rules import PairRule

__all__ = ["Lab", "LabHost", "PairRule", "unavailable"]
