"""Downloads files of a Kaggle competition with Kaggle's own client.

Run by `kaggle.py` through the worker, in a process of its own, because the client prints, takes its folder
from the environment, and may wait for ever.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mlagentbench.errors import PreparationError

_TOKENS = "https://www.kaggle.com/settings/api"
_FEW = 20
"""So many are fetched one after the other, each with the client's own progress; more are fetched side by side."""
_AT_ONCE = 4
_BETWEEN_LINES = 2.0


def download(competition: str, files: str, page: str, journal: Path) -> int:
    """Fetch `files`, a JSON list; each that has arrived whole is noted in `journal` at once.

    A download that was cut goes on where it stopped.
    """
    wanted: list[str] = json.loads(files)
    noting = threading.Lock()

    def fetch(file: str) -> None:
        path = Path(_download(competition, file, page))
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        status = path.stat()
        line = {"file": file, "size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": digest}
        with noting, journal.open("a", encoding="utf-8") as stream_of_notes:
            stream_of_notes.write(json.dumps(line) + "\n")

    if len(wanted) <= _FEW:
        for file in wanted:
            fetch(file)
        return len(wanted)
    told = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [pool.submit(fetch, file) for file in wanted]
        try:
            for done, each in enumerate(as_completed(running), start=1):
                each.result()
                if time.monotonic() - told >= _BETWEEN_LINES or done == len(wanted):
                    told = time.monotonic()
                    print(
                        f"{competition}: {done:,} of {len(wanted):,} files, {done / len(wanted):.0%}",
                        flush=True,
                    )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return len(wanted)


def _download(competition: str, file: str, page: str) -> str:
    """The path of the file, in the client's cache."""
    by_hand = f"or download {file} from {page}/data by hand and give --from its folder"
    try:
        import kagglehub  # type: ignore[import-untyped,unused-ignore]
        import requests
        from kagglehub import exceptions
    except ImportError:
        raise PreparationError(
            f"Downloading {competition} needs Kaggle's client: pip install 'mlagentbench[kaggle]', {by_hand}."
        ) from None
    try:
        return str(kagglehub.competition_download(competition, path=file))
    except exceptions.UnauthenticatedError:
        raise PreparationError(
            f"Kaggle gives {competition} to its members only: make a token at {_TOKENS} and set "
            f"KAGGLE_API_TOKEN to it, {by_hand}."
        ) from None
    except exceptions.KaggleApiHTTPError as error:
        status = error.response.status_code if error.response is not None else None
        raise PreparationError(_sentence(status, competition, file, page, by_hand)) from None
    except exceptions.DataCorruptionError:
        raise PreparationError(
            f"{file} of {competition} arrived damaged (its checksum differs); try again, {by_hand}."
        ) from None
    except (requests.RequestException, OSError) as error:
        raise PreparationError(
            f"The download of {file} of {competition} was cut ({type(error).__name__}); run the same command "
            f"again and it goes on where it stopped, {by_hand}."
        ) from None
    except ValueError as error:
        raise PreparationError(f"Kaggle's client refused: {error}. Mend that, {by_hand}.") from None


def _sentence(status: int | None, competition: str, file: str, page: str, by_hand: str) -> str:
    if status == 401:
        return (
            f"Kaggle does not accept your token (401): make a new one at {_TOKENS} and set KAGGLE_API_TOKEN "
            f"to it, {by_hand}."
        )
    if status == 403:
        return (
            f"Kaggle does not give you {competition} (403): accept its rules at {page}/rules with the "
            f"account that your token is of, and try again, {by_hand}."
        )
    if status == 404:
        return (
            f"Kaggle has no {file} in {competition} (404): look at {page}/data whether it was moved, "
            "and give --from what you find there."
        )
    return f"Kaggle answered with the error {status} for {file} of {competition}: try again later, {by_hand}."
