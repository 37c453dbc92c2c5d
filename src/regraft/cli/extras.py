"""Optional packages: what to install when a command needs one that is not there.

`pip install regraft` brings what planning, designing, routing, brokers and clients need; the rest comes with
extras (pyproject.toml). Whatever needs one of these packages imports it when it runs, and the command line
turns the failed import into the line that is made here.
"""

EXTRAS = {
    "asyncpg": "postgres",
    "cryptography": "components",
    "fastapi": "web",
    "matplotlib": "draw",
    "pandas": "spark",
    "prometheus_client": "web",
    "pyarrow": "spark",
    "pydantic": "web",
    "pyspark": "spark",
    "starlette": "web",
    "uvicorn": "web",
}
"""The package that is imported → the extra that brings it. (pydantic and starlette come with fastapi.)"""


def missing_extra(fault: BaseException) -> str | None:
    """One line that says which extra is missing; None if that is not what went wrong."""
    if not isinstance(fault, ModuleNotFoundError) or fault.name is None:
        return None
    package = fault.name.partition(".")[0]
    if package not in EXTRAS:
        return None
    return (
        f"this needs the package {package}, which is not installed: pip install 'regraft[{EXTRAS[package]}]'"
    )
