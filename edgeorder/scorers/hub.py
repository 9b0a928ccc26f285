"""Where a model's files are, a folder or the hub, and what goes wrong on the way there, in words."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from edgeorder.errors import RerankError
from edgeorder.extras import optional
from edgeorder.masking import chain, masked, presentable


class MissingFileError(RerankError):
    """The model is there, and this file of it is not."""


class UnreachableError(RerankError):
    """There is no way to the hub, and its cache on this machine does not hold the file."""


def as_folder(model: str | PathLike[str]) -> Path | None:
    """Return the folder that `model` names; None for a name on the hub.

    Raises:
        RerankError: For what can only be a folder, and is not there.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    text = str(model)
    if folder.is_file():
        raise RerankError(f"model={text!r} is a file; give the folder that holds it")
    # A name on the hub is "organisation/model", or "model" alone.
    if isinstance(model, PathLike) or folder.is_absolute() or text.startswith((".", "~")) or text.count("/") > 1:
        raise RerankError(f"there is no folder {text} (looked for {folder.absolute()})")
    return None


def first_file(model: str | PathLike[str], names: Sequence[str], revision: str | None = None) -> Path:
    """Return the first of some files that the model's folder, or its repository on the hub, has.

    Raises:
        MissingFileError: If it has none of them.
        UnreachableError: If the hub would have to be asked and cannot be.
        RerankError: If there is no such folder or model.
        ImportError: If huggingface-hub is not installed.
    """
    folder = as_folder(model)
    if folder is not None:
        found = next((folder / name for name in names if (folder / name).is_file()), None)
        if found is None:
            raise MissingFileError(f"{folder} has none of {', '.join(names)}")
        return found
    away: UnreachableError | None = None
    for name in names:
        try:
            return _from_hub(str(model), name, revision, cached=away is not None)
        except MissingFileError:
            continue
        except UnreachableError as error:  # waiting for the network once is enough
            away = away or error
    if away is not None:
        raise away
    raise MissingFileError(f"{model} on the hub has none of {', '.join(names)}")


def _from_hub(model: str, name: str, revision: str | None, *, cached: bool) -> Path:
    """Return a file of a repository; with `cached`, only if it is on this machine already."""
    with optional("huggingface-hub", "onnx"):
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import RemoteEntryNotFoundError
    try:
        return Path(hf_hub_download(model, name, revision=revision, local_files_only=cached))
    except RemoteEntryNotFoundError:
        failure: RerankError = MissingFileError(f"{model} on the hub has no {name}")
        cause = None
    except (OSError, ValueError) as error:
        failure, cause = hub_failure(model, name, error), presentable(error)
    # Out here, so that an error whose text holds a token is not dragged along as the context.
    raise failure from cause


def hub_failure(model: str, what: str, error: BaseException) -> RerankError:
    """Return what to say of a model that could not be fetched.

    Args:
        model: Its name.
        what: What was asked for: the name of a file, or "it".
        error: What the library raised.
    """
    from huggingface_hub import errors as hub

    led_to_it = tuple(chain(error))

    def met(*kinds: type[BaseException]) -> bool:
        return any(isinstance(one, kinds) for one in led_to_it)

    start = f"{masked(model)} is no folder here, and"
    if met(hub.RevisionNotFoundError):
        return RerankError(f"{start} the hub knows it, but not in this revision")
    if met(hub.GatedRepoError):
        return RerankError(f"{start} the hub gives it only to who asked for access there and logged in: hf auth login")
    if met(hub.RepositoryNotFoundError):
        return RerankError(f"{start} the hub knows no such model; a private one needs a login: hf auth login")
    if met(hub.HFValidationError):
        return RerankError(f"{start} no model on the hub can have such a name")
    lost = met(hub.LocalEntryNotFoundError, hub.OfflineModeIsEnabled, ConnectionError, TimeoutError) or any(
        "Connect" in type(one).__name__ for one in led_to_it
    )
    if lost and not met(hub.FileMetadataError):  # an answer came then, of something in between
        return UnreachableError(
            f"{start} the hub cannot be reached (no network, or HF_HUB_OFFLINE is set) while its cache on this machine "
            f"does not hold {what}; load the model once where there is a network, or give a folder"
        )
    return RerankError(f"{masked(model)} could not be loaded from the hub: {masked(str(error))}")
