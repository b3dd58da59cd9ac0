"""Asks the Hugging Face hub which files a repository has, with the hub's own client.

Run by `hub.py` through the worker, in a process of its own, because the client is slow to import, takes its
settings from the environment, and may wait for ever. The files themselves are downloaded by `web.py`, which goes on
where a download was cut, also in another process.
"""

from __future__ import annotations

from typing import Any

from mlagentbench.errors import PreparationError

_TOKENS = "https://huggingface.co/settings/tokens"


def files_of(name: str, repo_type: str, revision: str, page: str) -> dict[str, Any]:
    """Every file with its address, size and hash, and the headers that its server wants."""
    by_hand = f"or download its files from {page} by hand and give --from their folder"
    try:
        from huggingface_hub import HfApi, errors, hf_hub_url
        from huggingface_hub.hf_api import RepoFile
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        raise PreparationError(
            f"Downloading {name} needs the hub's client: pip install 'mlagentbench[hub]', {by_hand}."
        ) from None
    try:
        api = HfApi()
        commit = api.repo_info(name, repo_type=repo_type, revision=revision).sha
        files = [
            {
                "path": file.path,
                "url": hf_hub_url(name, file.path, repo_type=repo_type, revision=commit),
                "size": file.lfs.size if file.lfs else file.size,
                "algorithm": "sha256" if file.lfs else "git-sha1",
                "digest": file.lfs.sha256 if file.lfs else file.blob_id,
            }
            for file in api.list_repo_tree(name, recursive=True, revision=commit, repo_type=repo_type)
            if isinstance(file, RepoFile)
        ]
        return {"commit": commit, "files": files, "headers": build_hf_headers()}
    except errors.GatedRepoError:
        raise PreparationError(
            f"The Hugging Face hub does not give you {name} (403): accept its conditions at {page} with the account "
            f"that your token is of, make a token at {_TOKENS} and set HF_TOKEN to it, {by_hand}."
        ) from None
    except errors.RevisionNotFoundError:
        raise PreparationError(
            f"The Hugging Face hub has no revision {revision} of {name} (404): look at {page} whether it was moved, "
            f"{by_hand}."
        ) from None
    except errors.HfHubHTTPError as error:
        raise PreparationError(
            _sentence(getattr(error.response, "status_code", None), name, page, by_hand)
        ) from None
    except (errors.HTTPError, OSError) as error:  # type: ignore[attr-defined,unused-ignore]
        raise PreparationError(
            f"The Hugging Face hub cannot be reached ({type(error).__name__}): try again later, {by_hand}."
        ) from None


def _sentence(status: int | None, name: str, page: str, by_hand: str) -> str:
    if status == 401:
        return (
            f"The Hugging Face hub does not know your token, or has no {name} (401): make a token at {_TOKENS} and set "
            f"HF_TOKEN to it, {by_hand}."
        )
    if status == 403:
        return (
            f"The Hugging Face hub does not give you {name} (403): accept its conditions at {page} with the account "
            f"that your token is of, {by_hand}."
        )
    if status == 404:
        return f"The Hugging Face hub has no {name} (404): look at {page} whether it was moved, {by_hand}."
    return f"The Hugging Face hub answered with the error {status} for {name}: try again later, {by_hand}."
