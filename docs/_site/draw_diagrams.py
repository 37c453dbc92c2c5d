"""Draw the Mermaid diagrams of the pages: `scripts/docs --draw`. Needs npm (for Mermaid) and Chromium.

    draw_diagrams.py FOLDER   FOLDER holds Mermaid's dist/mermaid.min.js

Pictures of diagrams that are no longer in any page are removed.
"""

import re
import shutil
import sys
from pathlib import Path

from diagram_files import DIAGRAMS, picture
from playwright.sync_api import Page, sync_playwright

DOCS = DIAGRAMS.parent
SETTINGS = "{startOnLoad: false, htmlLabels: false, flowchart: {htmlLabels: false}, theme: 'neutral'}"


def diagrams() -> dict[Path, str]:
    fence = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    pages = sorted(DOCS.rglob("*.md"))
    return {picture(text): text for page in pages for text in fence.findall(page.read_text(encoding="utf-8"))}


def draw(page: Page, text: str) -> str:
    svg: str = page.evaluate("text => mermaid.render('diagram', text).then(found => found.svg)", text)
    return svg.replace("<br>", "<br/>") + "\n"


def main(mermaid: Path) -> None:
    wanted = diagrams()
    DIAGRAMS.mkdir(exist_ok=True)
    for file in set(DIAGRAMS.glob("*.svg")) - set(wanted):
        file.unlink()
    missing = {file: text for file, text in wanted.items() if not file.exists()}
    if missing:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page()
            page.add_script_tag(path=mermaid / "dist" / "mermaid.min.js")
            page.evaluate(f"mermaid.initialize({SETTINGS})")
            for file, text in missing.items():
                file.write_text(draw(page, text), encoding="utf-8")
            browser.close()
    print(f"{len(wanted)} diagrams, {len(missing)} drawn")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
