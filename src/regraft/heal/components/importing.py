"""Python modules from a bundle's files in memory: what was checked is what runs, and nothing is unpacked."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType


class BundleFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Asked after the interpreter's own modules: a bundle can not stand in for them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def _path(self, name: str) -> str | None:
        base = name.replace(".", "/")
        return next((p for p in (f"{base}/__init__.py", f"{base}.py") if p in self._files), None)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        found = self._path(fullname)
        if found is None:
            return None
        package = found.endswith("/__init__.py")
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=f"bundle:{found}", is_package=package)
        return spec

    def get_source(self, fullname: str) -> str:
        path = self._path(fullname)
        if path is None:
            raise ImportError(f"no module {fullname} in the bundle", name=fullname)
        return importlib.util.decode_source(self._files[path])

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.get_source(fullname), f"bundle:{self._path(fullname)}", "exec", dont_inherit=True)

    def is_package(self, fullname: str) -> bool:
        return (self._path(fullname) or "").endswith("/__init__.py")


def install(files: Mapping[str, bytes]) -> None:
    sys.meta_path.append(BundleFinder(files))
