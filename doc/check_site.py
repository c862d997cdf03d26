"""Open every page of the built site in a browser, and say what is wrong with it.

    sphinx-build -W -E doc doc/_build
    python doc/check_site.py doc/_build --screenshots screenshots

It needs Chromium (``apt-get install chromium``) and nothing else: the browser is driven
through a pipe. Each page is opened without a network, at 1400 and at 400 pixels, and
must have no horizontal overflow, broken images, mathematics that is not rendered, raw
markup, errors in the console, requests to other hosts, or prompts in copied code. Then
the search of the site must lead from the words of `SEARCHES` to their pages; build with
``-E``, since Sphinx keeps the index of pages that it has just read only. The exit
status is 1 if anything is wrong.
"""

# SPDX-License-Identifier: BSD-3-Clause

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

WIDTHS = (1400, 400)
# Taller pages are cut: Chromium cannot draw pictures of more than 16384 pixels.
MAX_HEIGHT = 16000
# One of the pages must be among the first results, and must say the words.
N_RESULTS = 3
SEARCHES = {
    "data drift": [
        "user_guide/questions",
        "user_guide/mmd",
        "user_guide/recipes",
        "auto_examples/plot_drift",
    ],
    "covariate shift": ["user_guide/questions", "user_guide/recipes", "coming_from"],
    "categorical": ["user_guide/tables", "user_guide/mmd", "user_guide/recipes"],
    "missing values": ["user_guide/tables", "user_guide/testing"],
    "concept drift": ["user_guide/monitoring"],
    "dask": ["out_of_core"],
    "false positive rate": ["user_guide/testing", "user_guide/pitfalls"],
    "feature importance": ["user_guide/feature_selection", "user_guide/questions"],
    "distance correlation": ["user_guide/distance_correlation", "user_guide/hsic"],
    "energy distance": [
        "user_guide/distance_correlation",
        "user_guide/mmd",
        "user_guide/kernels",
    ],
    "KID": ["user_guide/generators", "user_guide/recipes", "coming_from"],
    "CKA": ["user_guide/cka"],
    "Kolmogorov-Smirnov": ["coming_from"],
    "ANOVA": ["coming_from"],
    "chi-square": ["coming_from"],
    "partial correlation": ["coming_from", "user_guide/conditional"],
    "Granger": ["coming_from", "user_guide/series"],
    "normality": ["coming_from", "user_guide/ksd"],
    "PSI": ["coming_from"],
    "Wasserstein": ["coming_from"],
    "adversarial validation": ["coming_from"],
    "sample size": ["sample_size", "coming_from"],
    "Cohen's d": ["user_guide/effect_size", "coming_from"],
    "mmd_test": ["generated/skdiscrepancy.mmd_test"],
    "p-value": ["user_guide/testing"],
}

# Wait for fonts, images and mathematics.
SETTLE = """
(async () => {
  for (const image of document.images) image.loading = "eager";
  await document.fonts.ready;
  await Promise.all(Array.from(document.images, image => image.complete ||
    new Promise(done => { image.onload = image.onerror = done; })));
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
})()
"""

# What is wrong at any width, as a list of strings.
FAULTS = r"""
(() => {
  const found = [];
  for (const image of document.images)
    if (!image.naturalWidth) found.push(`broken image ${image.src}`);
  for (const formula of document.querySelectorAll(".math"))
    if (!formula.querySelector("mjx-container"))
      found.push(`mathematics is not rendered: ${formula.textContent.slice(0, 60)}`);
  for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    found.push(`error of MathJax: ${error.textContent.slice(0, 60)}`);
  const article = document.querySelector("article") || document.body;
  const text = article.cloneNode(true);
  for (const code of text.querySelectorAll("pre, code, script, style")) code.remove();
  const markup = /\\[([]|:[a-z:-]+:`|:(header-rows|widths|class|alt):|\[R[0-9a-f]{6}/;
  const raw = text.textContent.match(markup);
  if (raw) found.push(`raw markup: ${text.textContent.substr(raw.index, 60)}`);
  for (const list of article.querySelectorAll("td ol, .citation > ol"))
    found.push(`text became a list: ${list.textContent.trim().slice(0, 60)}`);
  for (const code of article.querySelectorAll("div.highlight pre")) {
    const button = code.parentElement.querySelector("button.copybtn");
    if (/^>>> /m.test(code.textContent) && !button)
      found.push(`no button to copy ${code.textContent.slice(0, 40)}`);
    if (button) {
      let copied = null;
      const listen = () => { copied = document.activeElement.value; };
      document.addEventListener("copy", listen, {once: true});
      button.click();
      document.removeEventListener("copy", listen);
      if (!copied) found.push(`not copied: ${code.textContent.slice(0, 40)}`);
      else if (/^(>>>|\.\.\.) /m.test(copied))
        found.push(`copied with prompts: ${code.textContent.slice(0, 40)}`);
    }
  }
  return found;
})()
"""

# What is too wide for the window.
OVERFLOWS = r"""
(() => {
  const found = [], width = document.documentElement.clientWidth;
  const name = element =>
    `<${element.tagName.toLowerCase()} class="${element.getAttribute("class")}"> ` +
    element.textContent.trim().replace(/\s+/g, " ").slice(0, 60);
  const scrolls = element => {
    for (let e = element.parentElement; e && e !== document.body; e = e.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  if (document.documentElement.scrollWidth > width)
    found.push(`page is ${document.documentElement.scrollWidth} pixels wide`);
  for (const element of document.querySelectorAll("article *")) {
    const box = element.getBoundingClientRect();
    if (box.width && box.height && box.right > width + 1 && !scrolls(element)) {
      found.push(`${Math.round(box.right - width)} pixels too far: ${name(element)}`);
      break;
    }
  }
  if (width >= 1000)
    for (const code of document.querySelectorAll("article pre")) {
      const hidden = code.scrollWidth - code.clientWidth;
      if (hidden > 1) found.push(`${hidden} pixels of code are hidden: ${name(code)}`);
    }
  return found;
})()
"""

RESULTS = """
(async () => {
  const summary = () => document.querySelector("#search-results .search-summary");
  const done = () => summary() && /found|did not match/.test(summary().textContent);
  for (let i = 0; i < 200 && !done(); i++) await new Promise(r => setTimeout(r, 50));
  return Array.from(document.querySelectorAll("#search-results li > a"), a => a.href);
})()
"""


class Browser:
    """A headless Chromium with one tab, spoken to through a pipe."""

    def __init__(self, executable: str, *, dark: bool = False) -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        command = [
            executable,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={self.profile.name}",
        ]
        # Chromium reads from descriptor 3 and writes to descriptor 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "sh", *command],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.events: list[dict[str, Any]] = []
        self._buffer = b""
        self._id = 0
        self._session: dict[str, str] = {}
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send(
            "Target.attachToTarget", targetId=target, flatten=True
        )
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        if dark:
            feature = {"name": "prefers-color-scheme", "value": "dark"}
            self.send("Emulation.setEmulatedMedia", features=[feature])

    def _read(self) -> dict[str, Any]:
        """Return the next message."""
        while b"\0" not in self._buffer:
            part = os.read(self._answers, 1 << 20)
            if not part:
                sys.exit("the browser has ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; keep the events until then."""
        self._id += 1
        command = {"id": self._id, "method": method, "params": params, **self._session}
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while (message := self._read()).get("id") != self._id:
            self.events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def open(self, url: str) -> None:
        """Open a page and wait until nothing on it moves."""
        self.events.clear()
        self.send("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())
        self.evaluate(SETTLE)

    def resize(self, width: int) -> None:
        """Set the width of the window."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        # Sidebars slide.
        self.evaluate("new Promise(done => setTimeout(done, 400))")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, or of its promise."""
        answer = self.send(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def save_screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], MAX_HEIGHT)
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
        picture = self.send(
            "Page.captureScreenshot", clip=clip, captureBeyondViewport=True
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(RuntimeError, SystemExit):
            self._session = {}
            self.send("Browser.close")
        self.process.wait(timeout=30)
        self.profile.cleanup()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a word."""

    def handle(self) -> None:
        """Answer; a browser that has left the page need not listen."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextlib.contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site to this machine only; give its address."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def reported(events: list[dict[str, Any]], address: str) -> Iterator[str]:
    """Give the errors of the console and the requests to other hosts."""
    for event in events:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                text = details.get("exception", {}).get("description", details["text"])
                yield f"exception: {text}"
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                entry = params["entry"]
                yield f"console: {entry['text']} {entry.get('url', '')}"
            case "Runtime.consoleAPICalled" if params["type"] == "error":
                values = [str(item.get("value", "")) for item in params["args"]]
                yield f"console: {' '.join(values)}"
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith((address, "data:", "blob:")):
                    yield f"request to another host: {url}"


def check_page(
    browser: Browser, address: str, page: str, screenshots: Path | None
) -> list[str]:
    """Return what is wrong with a page."""
    browser.resize(WIDTHS[0])
    browser.open(address + page)
    found = []
    for width in WIDTHS:
        browser.resize(width)
        found += [f"{text} (at {width})" for text in browser.evaluate(OVERFLOWS)]
        if screenshots:
            name = page.removesuffix(".html").replace("/", "__")
            browser.save_screenshot(screenshots / str(width) / f"{name}.png")
    # Last, since buttons that were clicked look different.
    found += browser.evaluate(FAULTS)
    return list(dict.fromkeys([*found, *reported(browser.events, address)]))


def check_search(browser: Browser, address: str, words: str) -> list[str]:
    """Return what is wrong with the results of a search."""
    browser.open(f"{address}search.html?q={quote(words)}")
    pages = [
        url.removeprefix(address).partition("#")[0].partition("?")[0]
        for url in browser.evaluate(RESULTS)
    ]
    first = [page.removesuffix(".html") for page in dict.fromkeys(pages)][:N_RESULTS]
    found = list(reported(browser.events, address))
    right = [page for page in first if page in SEARCHES[words]]
    if not right:
        found.append(f"leads to {first}, not to one of {SEARCHES[words]}")
    elif not any(says(browser, f"{address}{page}.html", words) for page in right):
        found.append(f"leads to {right}, which say nothing of it")
    return found


def says(browser: Browser, url: str, words: str) -> bool:
    """Tell whether a page has all words."""
    browser.open(url)
    text = browser.evaluate("document.querySelector('article').textContent").lower()
    text = text.replace("\u2019", "'")
    return all(word in text for word in words.lower().split())


def main() -> int:
    """Check the site that is named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=Path, help="folder of the built pages")
    parser.add_argument("--screenshots", type=Path, help="folder for pictures")
    parser.add_argument("--pages", default="*", help='only these, such as "api/*"')
    parser.add_argument("--dark", action="store_true", help="in dark colours")
    parser.add_argument("--browser", default="chromium", help="name of the program")
    options = parser.parse_args()
    executable = shutil.which(options.browser)
    if executable is None:
        parser.error(f"{options.browser} is not installed")
    pages = sorted(
        page
        for path in options.site.rglob("*.html")
        if not (page := path.relative_to(options.site).as_posix()).startswith("_")
        and fnmatch(page, options.pages)
    )
    if not pages:
        parser.error(f"no pages in {options.site}")
    n_faults = 0
    browser = Browser(executable, dark=options.dark)
    try:
        with served(options.site) as address:
            checks = [
                (page, partial(check_page, page=page, screenshots=options.screenshots))
                for page in pages
            ]
            if options.pages == "*":
                for words in SEARCHES:
                    check = partial(check_search, words=words)
                    checks.append((f'search "{words}"', check))
            for name, check in checks:
                for fault in check(browser, address):
                    print(f"{name}: {fault}")
                    n_faults += 1
    finally:
        browser.close()
    print(f"{len(pages)} pages, {n_faults} faults")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
