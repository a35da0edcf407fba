"""Policies and training checkpoints on disk: one safetensors file each, its JSON in the header.

One file is written under a temporary name and renamed, so it is whole or it is not there; digests of the
tensors and of the JSON stand in the header, so a damaged file is refused. Nothing is ever pickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gcbr.actions import ActionSpace
from gcbr.errors import InputError
from gcbr.files import write_atomically
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
    actions: ActionSpace = field(default_factory=ActionSpace)  # what it chooses among


def save_policy(path: Path, policy: Policy, card: PolicyCard) -> None:
    write_tensors(path, policy.state_dict(), {"policy": asdict(card)})


def load_policy(path: Path) -> tuple[Policy, PolicyCard]:
    tensors, header = read_tensors(path)
    try:
        card = _card(**header["policy"])
    except (KeyError, TypeError):
        raise InputError(f"{path} holds no policy") from None
    unknown = [column for column in card.columns if column not in KNOWN_COLUMNS]
    if unknown:
        raise InputError(
            f"{path} was trained on columns this version does not know: {', '.join(unknown)}; "
            f"it knows {', '.join(KNOWN_COLUMNS)}"
        )
    with torch.device("meta"):  # weights of its own would be drawn from the global generator
        policy = Policy(len(card.columns), card.width)
    try:
        policy.load_state_dict(tensors, assign=True)
    except RuntimeError:
        raise InputError(f"{path} does not hold the weights its header describes") from None
    return policy.requires_grad_(False), card


def _card(
    columns: list[str], sources: list[str], actions: dict[str, bool] | None = None, **rest: Any
) -> PolicyCard:
    """A card out of JSON, which knows neither tuples nor classes; files of old say nothing of actions."""
    return PolicyCard(
        columns=tuple(columns), sources=tuple(sources), actions=ActionSpace(**actions or {}), **rest
    )


def write_tensors(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(header)
    digests = {"sha256": _digest(stored), "header_sha256": _header_digest(text, stored)}
    write_atomically(path, save(stored, {"gcbr": text, **digests}))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:
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
    text = metadata["gcbr"]
    digest = _header_digest(text, tensors)
    if metadata.get("header_sha256", digest) != digest:
        raise InputError(f"{path} is damaged: its header does not match its digest")
    return tensors, json.loads(text)


def fingerprint(policy: Policy) -> str:
    """A short name for exactly these weights."""
    return _digest(policy.state_dict())[:12]


def _header_digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    """Of the JSON and of what safetensors itself notes of each tensor."""
    notes = [f"{name} {tensors[name].dtype} {list(tensors[name].shape)}" for name in sorted(tensors)]
    return hashlib.sha256("\n".join([text, *notes]).encode()).hexdigest()


def _digest(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
