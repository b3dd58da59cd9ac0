"""Downloads one file of a Kaggle competition with Kaggle's own client.

Run by `sources.py` through the worker, in a process of its own, because the client prints, takes its folder
from the environment, and may wait for ever.
"""

from __future__ import annotations

from mlagentbench.errors import PreparationError

_TOKENS = "https://www.kaggle.com/settings/api"


def download(competition: str, file: str, page: str) -> str:
    """The path of the file, in the client's cache; a download that was cut goes on where it stopped."""
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
