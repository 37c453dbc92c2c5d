"""A wall clock of its own for each host: a library that is loaded into every program which a host starts.

The kernel has one wall clock for all processes (a time namespace shifts only the clocks that count from
the start of the machine). So the answer of the C library is shifted: `clock_gettime` of the real-time
clocks, `gettimeofday` and `time`. That reaches Python, Java and every other program that is linked
dynamically, and the programs that it starts.

What is not shifted: the monotonic clocks (as on real hosts, whose clocks run equally fast), the times
that the kernel writes on files, programs that are linked statically, and deadlines on the real-time clock
other than that of `sem_timedwait`, by which Python waits for its locks.
"""

import shutil
from pathlib import Path

from regraft.testing.netns import run

NANOSECONDS = "LAB_SKEW_NANOSECONDS"
"""An integer: how a C program reads a fraction depends on its locale."""
_SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The programs themselves may ask for the time before a constructor of this library would have run. */
static long long skew(void) {
    static long long nanoseconds;
    static int known;
    if (!known) {
        const char *given = getenv("LAB_SKEW_NANOSECONDS");
        nanoseconds = given ? atoll(given) : 0;
        known = 1;
    }
    return nanoseconds;
}

static void add(struct timespec *time, long long nanoseconds) {
    long long sum = time->tv_nsec + nanoseconds % 1000000000;
    time->tv_sec += nanoseconds / 1000000000;
    if (sum < 0) { sum += 1000000000; time->tv_sec -= 1; }
    if (sum >= 1000000000) { sum -= 1000000000; time->tv_sec += 1; }
    time->tv_nsec = sum;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int answer = syscall(SYS_clock_gettime, clock, time);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) add(time, skew());
    return answer;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (time && clock_gettime(CLOCK_REALTIME, &now) == 0) {
        time->tv_sec = now.tv_sec;
        time->tv_usec = now.tv_nsec / 1000;
    }
    return 0;
}

time_t time(time_t *time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (time) *time = now.tv_sec;
    return now.tv_sec;
}

/* The kernel compares the deadline with its own clock, not with the one that the program has read. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    static int (*real)(sem_t *, const struct timespec *);
    struct timespec shifted = *until;
    if (!real) real = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    add(&shifted, -skew());
    return real(semaphore, &shifted);
}
"""


def unavailable() -> str | None:
    """Why no host can have a clock of its own here, or None."""
    return None if shutil.which("cc") else "no C compiler (`cc`) to build the clock of a host with"


def build(library: Path) -> None:
    """Compile the library, which takes a fraction of a second."""
    command = ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library), "-ldl"]
    run(command, _SOURCE)


def shifted(environment: dict[str, str], library: Path, seconds: float) -> dict[str, str]:
    """The environment of a program whose wall clock is ahead by this many seconds."""
    preload = " ".join(filter(None, (str(library), environment.get("LD_PRELOAD"))))
    return environment | {NANOSECONDS: str(round(seconds * 1e9)), "LD_PRELOAD": preload}
