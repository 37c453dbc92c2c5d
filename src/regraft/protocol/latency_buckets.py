"""Latencies are counted in buckets that grow by a constant factor, by brokers and by Spark alike.

Bucket n holds the latencies in (GROWTH^(n-1), GROWTH^n]; 0 and 1 are in bucket 0. So counts can be added up,
and quantiles are off by at most `ERROR` of their value (below one microsecond: by one).
"""

import math

ERROR = 0.005
GROWTH = (1 + ERROR) / (1 - ERROR)
LOG_GROWTH = math.log(GROWTH)


def bucket_of(latency: int) -> int:
    return math.ceil(math.log(max(latency, 1)) / LOG_GROWTH)
