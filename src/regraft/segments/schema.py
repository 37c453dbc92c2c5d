"""The columns of a segment: the fields of telemetry records of all kinds, flat."""

from typing import Any

import pyarrow as pa

from regraft.protocol.record_fields import COLUMNS, Holds

AT = pa.timestamp("us", tz="UTC")
ARROW: dict[Holds, Any] = {
    Holds.TEXT: pa.string(),
    Holds.WHOLE: pa.int64(),
    Holds.SHORT: pa.int32(),
    Holds.NUMBER: pa.float64(),
    Holds.TIME: AT,
    Holds.NUMBERS: pa.map_(pa.string(), pa.float64()),
    Holds.TEXTS: pa.map_(pa.string(), pa.string()),
}
RECORDS = pa.schema([(field.name, ARROW[field.holds]) for field in COLUMNS])
