"""A headless Chromium, driven through its debugging protocol over a pipe; nothing listens on the network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_LONGEST = 120


def find_chromium() -> str:
    """Where it is, or the reason to skip a test. `make setup` installs it where that is possible."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("there is no Chromium: `make setup` installs it on Debian as root; else install `chromium`")


class Browser:
    """One page."""

    def __init__(self, process: subprocess.Popen[bytes], asks: int, answers: int) -> None:
        self._process = process
        self._asks, self._answers = asks, os.fdopen(answers, "rb", buffering=0)
        self._number = 0
        self._session = ""
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One command, and its answer; events that come before it are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._asks, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self.events.append(answer)

    def open(self, file: Path) -> None:
        """Load a page from disk and wait until it stands."""
        self.events.clear()
        self.ask("Page.navigate", url=file.absolute().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def resize(self, width: int, height: int = 900, *, phone: bool = False) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )

    def scheme(self, name: str) -> None:
        """`light` or `dark`."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description", answer))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key of the keyboard, in the element that has the focus."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                windowsVirtualKeyCode={"Enter": 13, " ": 32, "Tab": 9}.get(key, 0),
            )  # fmt: skip

    def complaints(self) -> list[str]:
        """Whatever the console was told, exceptions, refusals of the content policy, and failed requests."""
        self.run("1")
        found = []
        for event in self.events:
            params = event.get("params", {})
            match event.get("method"):
                case "Log.entryAdded":
                    found.append(params["entry"]["text"])
                case "Runtime.consoleAPICalled":
                    found.append(str(params["args"]))
                case "Runtime.exceptionThrown":
                    found.append(params["exceptionDetails"]["text"])
                case "Network.loadingFailed":
                    found.append(params["errorText"])
        return found

    def requests(self) -> list[str]:
        """What the page asked for, besides itself."""
        asked = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in asked[1:] if not url.startswith("data:")]

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(
            self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]
        )

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = self._answers.read(2**20)
            if not chunk:
                raise AssertionError("Chromium ended")
            self._rest += chunk
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A Chromium whose own files lie in `folder`; gone afterwards with all of its processes."""
    program = find_chromium()
    theirs, asks = os.pipe()
    answers, ours = os.pipe()

    def at_three_and_four() -> None:
        low, high = os.dup(theirs), os.dup(ours)
        os.dup2(low, 3)
        os.dup2(high, 4)

    process = subprocess.Popen(
        [
            program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--disable-extensions", "--mute-audio", "--hide-scrollbars", "--font-render-hinting=none",
            f"--user-data-dir={folder}", "about:blank",
        ],
        preexec_fn=at_three_and_four,
        pass_fds=(3, 4),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"},
    )  # fmt: skip
    os.close(theirs)
    os.close(ours)
    try:
        opened = Browser(process, asks, answers)
        yield opened
        os.write(asks, json.dumps({"id": 10**9, "method": "Browser.close"}).encode() + b"\0")
        process.wait(_LONGEST)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()
        os.close(asks)
