"""The manifest of a bundle: name, version, entry, the shape of its state, and its limits."""

import re
from collections.abc import Mapping

import msgspec

from regraft.model import BadInput

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}", re.ASCII)
ENTRY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "str": str,
    "bool": bool,
    "bytes": bytes,
    "list": list,
    "dict": dict,
    "any": object,
}


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one component may use; a component that uses more is stopped, with the reason."""

    call_seconds: float = 30.0
    """The time limit of a call, and of a task between two of its checkpoints."""
    memory_bytes: int = 256 << 20
    """In addition to what the process has before it loads the component."""
    state_bytes: int = 16 << 20
    open_files: int = 64
    file_bytes: int = 16 << 20
    """The largest file that it may write."""


class StateShape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The types of the fields of the state, by name; without fields, any state is allowed. `version` is
    information for programs that write initial states."""

    version: int = 1
    fields: dict[str, str] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    version: str
    entry: str
    """`module:Class`"""
    state: StateShape = StateShape()
    limits: Limits = Limits()


HIGHEST = Limits(
    call_seconds=3600.0, memory_bytes=4 << 30, state_bytes=48 << 20, open_files=1024, file_bytes=1 << 30
)


def read_manifest(data: bytes, place: str) -> Manifest:
    """`BadInput` with the field that breaks a rule."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise BadInput(place, f"is not a manifest: {str(fault).splitlines()[0]}") from None
    check_name(manifest.name, f"{place}: name")
    if not 0 < len(manifest.version) <= 100:
        raise BadInput(f"{place}: version", "has 1 to 100 characters")
    if not ENTRY.fullmatch(manifest.entry):
        raise BadInput(f"{place}: entry", f"{manifest.entry!r} is not module:Class")
    for field, kind in manifest.state.fields.items():
        if kind not in TYPES:
            raise BadInput(f"{place}: state.fields.{field}", f"{kind!r} is not one of {', '.join(TYPES)}")
    for name in Limits.__struct_fields__:
        value, most = getattr(manifest.limits, name), getattr(HIGHEST, name)
        if not 0 < value <= most:  # NaN is refused as well
            raise BadInput(f"{place}: limits.{name}", f"{value:g} is not between 0 and {most:g}")
    return manifest


def check_name(name: str, place: str) -> None:
    """The rule for names of bundles and components, which occur in paths and on command lines."""
    if not NAME.fullmatch(name):
        raise BadInput(place, f"{name!r} is not 1 to 100 letters, digits and . _ @ -")


def state_problem(state: Mapping[str, object], shape: StateShape) -> str:
    """Why this cannot be the state; empty if it can."""
    for field, kind in shape.fields.items():
        if field not in state:
            return f"the state has no {field!r}"
        value = state[field]
        if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind in ("int", "float")):
            return f"{field!r} of the state is {type(value).__name__}, not {kind}"
    if shape.fields and (more := sorted(set(state) - set(shape.fields))):
        return f"the state has a {more[0]!r}, which the manifest does not name"
    return ""
