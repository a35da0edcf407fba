"""Policies and training checkpoints on disk: one safetensors file each, its JSON in the header.

One file is written under a temporary name and renamed, so it is whole or it is not there; a digest of the
tensors stands in the header, so a damaged file is refused. Nothing is ever pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gcbr.errors import InputError
from gcbr.policy import Policy
from gcbr.state import KNOWN_COLUMNS


@dataclass(frozen=True)
class PolicyCard:
    """What a policy is, and where it comes from."""

    method: str
    columns: tuple[str, ...]  # of the state, in order
    width: int
    features: str  # the feature rule it was trained under, and is to be used under
    sources: tuple[str, ...]  # the graphs it was trained on
    episodes: int  # played in training
    settings: dict[str, Any]
    curve: list[dict[str, float]]
    version: str  # of the package


def save_policy(path: Path, policy: Policy, card: PolicyCard) -> None:
    write_tensors(path, policy.state_dict(), {"policy": asdict(card)})


def load_policy(path: Path) -> tuple[Policy, PolicyCard]:
    tensors, header = read_tensors(path)
    try:
        card = PolicyCard(**header["policy"])
        card = PolicyCard(**{**asdict(card), "columns": tuple(card.columns), "sources": tuple(card.sources)})
    except (KeyError, TypeError):
        raise InputError(f"{path} holds no policy") from None
    unknown = [column for column in card.columns if column not in KNOWN_COLUMNS]
    if unknown:
        raise InputError(
            f"{path} was trained on columns this version does not know: {', '.join(unknown)}; "
            f"it knows {', '.join(KNOWN_COLUMNS)}"
        )
    policy = Policy(len(card.columns), card.width)
    try:
        policy.load_state_dict(tensors)
    except RuntimeError:
        raise InputError(f"{path} does not hold the weights its header describes") from None
    return policy.requires_grad_(False), card


def write_tensors(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    stored = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, save(stored, {"gcbr": json.dumps(header), "sha256": _digest(stored)}))


def write_atomically(path: Path, content: bytes) -> None:
    """A reader, or a process killed at any moment, sees the old file or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:  # type: ignore[no-untyped-call]
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged or not a safetensors file: {error}") from None
    if "gcbr" not in metadata:
        raise InputError(f"{path} was not written by gcbr")
    if metadata.get("sha256") != _digest(tensors):
        raise InputError(f"{path} is damaged: its weights do not match the digest in its header")
    return tensors, json.loads(metadata["gcbr"])


def fingerprint(policy: Policy) -> str:
    """A short name for exactly these weights."""
    return _digest(policy.state_dict())[:12]


def _digest(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
