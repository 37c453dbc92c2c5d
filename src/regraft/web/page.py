"""The dashboard's files, which come with the package, and the security headers of every answer."""

import base64
import hashlib
import re
from pathlib import Path

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"
REFERENCE = STATIC / "reference.html"
_INLINE = re.compile(r"<script type=\"importmap\">(.*?)</script>", re.DOTALL)


class Files(StaticFiles):
    """Makes a browser ask each time whether a file has changed, so that a new version is seen at once."""

    def file_response(self, *args: object, **options: object) -> Response:
        answer = super().file_response(*args, **options)  # type: ignore[arg-type]
        answer.headers["Cache-Control"] = "no-cache"
        return answer


def page_headers() -> tuple[tuple[str, str], ...]:
    """Scripts may come only from this server and each page's inline import map, by its digest; no frames."""
    digests = " ".join(sorted({f"'sha256-{digest}'" for digest in map(_digest, STATIC.glob("*.html"))}))
    policy = (
        "default-src 'none'; connect-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        f"script-src 'self' {digests}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    return (
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    )


def _digest(page: Path) -> str:
    inline = _INLINE.search(page.read_text(encoding="utf-8"))
    return base64.b64encode(hashlib.sha256((inline[1] if inline else "").encode()).digest()).decode()
