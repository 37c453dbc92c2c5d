"""Making a host from nameless namespaces and a TUN device, and ending it: only the router does that.

The host's first process stays in the namespaces. It ends when the router's process does, and the kernel then
kills all other processes of the host; the namespaces and the device go with the last of them.
"""

import fcntl
import os
import signal
import socket
import struct
import time
import traceback
from pathlib import Path
from typing import NoReturn

from regraft.testing.hosts.host import CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUTS, NETWORK
from regraft.testing.netns import Namespace, call

DEVICE = "wan"
QUEUE_PACKETS = 10_000
"""What a burst may leave unread in a device before the kernel drops packets that no rule has condemned."""
END_SECONDS = 5.0
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x1, 0x1000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


def make_host(number: int, mtu: int, folder: Path) -> tuple[int, int, int]:
    """Its device, its first process, and a descriptor: when that is closed everywhere, the host ends."""
    network = Namespace()
    with network.inside():
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
    network.ip(
        "link set lo up",
        f"addr add {NETWORK}.{number}/24 dev {DEVICE}",
        f"link set {DEVICE} mtu {mtu} txqueuelen {QUEUE_PACKETS} up",
    )
    ready, is_ready = os.pipe()
    ended, end = os.pipe()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    with network.inside():
        call("unshare", CLONE_NEWPID)
        process = os.fork()
        if process == 0:
            _be_first_process(folder, ended, is_ready)
        call("setns", own, CLONE_NEWPID)
    os.close(own)
    os.close(is_ready)
    os.close(ended)
    network.close()
    if not os.read(ready, 1):
        raise RuntimeError(f"{folder.name} has not started")
    os.close(ready)
    return device, process, end


def _be_first_process(folder: Path, ended: int, is_ready: int) -> NoReturn:
    """It waits for the end of the router, and takes notice of processes that end without a parent."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.dup2(ended, 0)
        os.dup2(is_ready, 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # above all what would keep other hosts alive
        call("unshare", CLONE_NEWNS | CLONE_NEWUTS)
        socket.sethostname(folder.name)
        _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
        _mount("proc", "/proc", "proc", 0)
        own = os.open(folder, os.O_RDONLY)
        _mount("none", str(folder.parent), "tmpfs", 0)  # hides the folders of all hosts …
        folder.mkdir()
        _mount(f"/proc/self/fd/{own}", str(folder), "", _MS_BIND)  # … and shows the host its own
        os.close(own)
        os.write(1, b"!")
        os.close(1)
        os.read(0, 1)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def _mount(source: str, target: str, kind: str, flags: int) -> None:
    call("mount", source.encode(), target.encode(), kind.encode(), flags, None)


def end_hosts(first_processes: list[int]) -> None:
    """Returns when all processes of all hosts have ended and their parents have waited for them. A parent may
    never do that, so this does not wait for longer than END_SECONDS."""
    for process in first_processes:
        os.kill(process, signal.SIGKILL)
    last = time.monotonic() + END_SECONDS
    for process in first_processes:
        while os.waitpid(process, os.WNOHANG) == (0, 0) and time.monotonic() < last:
            time.sleep(0.001)
