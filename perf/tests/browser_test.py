#!/usr/bin/env python3
"""Opens the report in headless Chromium: no console message, every figure drawn, the table sorts and filters.

Skipped (status 77) where there is no Chromium: it is too large a package to ask for. REPORT_SCREENSHOT=FILE keeps a
picture to look at. SPDX-License-Identifier: BSD-3-Clause
"""

import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import synthetic  # noqa: E402

REPORT = pathlib.Path(__file__).resolve().parent.parent / "report.py"
SKIPPED = 77

# Runs after the page's own script and leaves what it saw in the document, which Chromium then prints.
PROBE = """
<script>
window.addEventListener('load', () => {
  const seen = {};
  for (const figure of document.querySelectorAll('[data-figure]')) {
    const box = figure.querySelector('svg').getBoundingClientRect();
    seen[figure.dataset.figure] = box.width > 300 && box.height > 80 && figure.querySelectorAll('path').length > 10;
  }
  const body = document.getElementById('rows').tBodies[0];
  const first = () => body.rows[0].cells[0].textContent;
  const before = first();
  document.querySelectorAll('#rows th button')[2].click();
  seen.sorted = first() !== before;
  const filter = document.getElementById('filter');
  filter.value = 'h squares';
  filter.dispatchEvent(new Event('input'));
  seen.filtered = [...body.rows].filter((row) => !row.hidden).length;
  seen.requests = performance.getEntriesByType('resource').length;
  document.body.setAttribute('data-probe', JSON.stringify(seen));
});
</script>
"""


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    return None


def browse(browser, folder, *arguments):
    return subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
         f"--user-data-dir={folder}/profile", "--virtual-time-budget=3000", *arguments],
        capture_output=True, text=True, timeout=120, check=False)


def check(condition, what):
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)
    print(f"ok: {what}")


def main():
    browser = chromium()
    if browser is None:
        print("skipped: needs Chromium (Debian: chromium)")
        return SKIPPED
    synthetic.need("pandas", "matplotlib")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        results = synthetic.write(folder / "results.json",
                                  synthetic.standard(lambda one: 0.8 + 0.4 * abs(math.sin(one["m"] * 3 + one["n"]))))
        ladder = synthetic.write(folder / "ladder.json", synthetic.ladder())
        page = folder / "report.html"
        subprocess.run([sys.executable, str(REPORT), results, "--ladder", ladder, "--html", str(page)], check=True)
        if picture := os.environ.get("REPORT_SCREENSHOT"):
            browse(browser, folder, f"--screenshot={os.path.abspath(picture)}", "--window-size=1200,3600", page.as_uri())
        probed = folder / "probed.html"
        probed.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>"), encoding="utf-8")
        done = browse(browser, folder, "--dump-dom", probed.as_uri())
    check(done.returncode == 0, "Chromium opens the page")
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    check(not console, f"no console messages {console}")
    found = re.search(r'data-probe="([^"]*)"', done.stdout)
    check(found is not None, "the probe ran")
    seen = __import__("json").loads(found.group(1).replace("&quot;", '"'))
    for name in ("speed", "sets", "heat", "roofline", "ladder"):
        check(seen.get(name) is True, f"figure {name} is drawn")
    check(seen["sorted"], "a click on a heading sorts")
    check(seen["filtered"] == 6, f"the filter leaves the six fp16 squares ({seen['filtered']})")
    check(seen["requests"] == 0, "nothing was requested")
    return 0


if __name__ == "__main__":
    sys.exit(main())
