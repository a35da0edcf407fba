"""Policies on disk: what comes back is what went in, and a damaged file is refused."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from gcbr import checkpoints
from gcbr.checkpoints import PolicyCard, fingerprint, load_policy, read_tensors, save_policy, write_tensors
from gcbr.errors import InputError
from gcbr.policy import Policy
from gcbr.seeding import generator, seeded

CARD = PolicyCard(
    method="gcbr",
    columns=("centrality", "uncertainty"),
    width=2,
    features="paper",
    sources=("cora", "photo"),
    episodes=7,
    settings={"train": {"seed": 1, "discount": 0.9}, "env": {"columns": ["centrality", "uncertainty"]}},
    curve=[{"episode": 5, "reward": 0.1}, {"episode": 7, "reward": 1 / 3}],
    version="0.1.0",
)


def some_policy(num_columns: int = 2, width: int = 2, seed: int = 0) -> Policy:
    with seeded(generator(seed)):
        return Policy(num_columns, width)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    save_policy(path, some_policy(), CARD)
    return path


def is_same(policy: Policy, card: PolicyCard) -> bool:
    ours, theirs = some_policy().state_dict(), policy.state_dict()
    weights = all(torch.equal(ours[name], theirs[name]) for name in ours)
    return card == CARD and ours.keys() == theirs.keys() and weights


# --- There and back -------------------------------------------------------------------------------------


def test_a_policy_comes_back_as_it_went_in(file: Path):
    policy, card = load_policy(file)
    assert is_same(policy, card)
    assert isinstance(card.columns, tuple)
    assert isinstance(card.sources, tuple)


def test_a_loaded_policy_is_there_to_be_used(file: Path):
    policy, _ = load_policy(file)
    assert not any(parameter.requires_grad for parameter in policy.parameters())
    assert all(parameter.device.type == "cpu" for parameter in policy.parameters())


def test_loading_draws_no_random_number(file: Path):
    before = torch.get_rng_state()
    load_policy(file)
    assert torch.equal(torch.get_rng_state(), before)


def test_tensors_of_every_shape_come_back_with_their_header(tmp_path: Path):
    tensors = {
        "a number": torch.tensor(3.5),
        "a row": torch.arange(3),
        "a view": torch.arange(6.0).view(2, 3).T,
        "nothing": torch.empty(0, 4),
    }
    header = {"text": 'quoted "words" and \u00fcmlauts', "numbers": [1, 0.1, 1e-300], "none": None}
    write_tensors(tmp_path / "some", tensors, header)
    read, read_header = read_tensors(tmp_path / "some")
    assert read_header == header
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(read[name], tensor)
        assert read[name].dtype == tensor.dtype


def test_a_fingerprint_names_exactly_these_weights(file: Path):
    policy, _ = load_policy(file)
    assert fingerprint(policy) == fingerprint(some_policy())
    assert len(fingerprint(policy)) == 12
    with torch.no_grad():
        policy.critic.last.bias += 1e-6
    assert fingerprint(policy) != fingerprint(some_policy())


def test_nothing_is_pickled(file: Path):
    """The whole file by hand: a length, a JSON header, and the plain bytes of the weights."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert json.loads(header.pop("__metadata__")["gcbr"])["policy"]["method"] == "gcbr"
    weights = some_policy().state_dict()
    assert header.keys() == weights.keys()
    for name, entry in header.items():
        start, stop = (8 + length + offset for offset in entry["data_offsets"])
        assert content[start:stop] == weights[name].numpy().tobytes()
    assert len(content) == 8 + length + 4 * sum(weight.numel() for weight in weights.values())
    source = Path(checkpoints.__file__).read_text(encoding="utf-8")
    assert "import pickle" not in source
    assert "torch.load" not in source
    assert "torch.save" not in source


# --- Written whole --------------------------------------------------------------------------------------


def test_writing_leaves_the_file_alone_in_its_folder(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "policy.safetensors"
    for _ in range(3):
        save_policy(path, some_policy(), CARD)
    assert [entry.name for entry in path.parent.iterdir()] == ["policy.safetensors"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(file: Path, monkeypatch):
    before = file.read_bytes()

    def fail(*given: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        save_policy(file, some_policy(seed=1), CARD)
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


# --- Refused --------------------------------------------------------------------------------------------


def test_a_missing_file(tmp_path: Path):
    with pytest.raises(InputError, match=r"there is no file .*nowhere\.safetensors"):
        load_policy(tmp_path / "nowhere.safetensors")


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04" + bytes(2000)], ids=["empty", "text", "zip"]
)
def test_a_file_of_another_kind(tmp_path: Path, content: bytes):
    path = tmp_path / "policy.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"policy\.safetensors is damaged or not a safetensors file"):
        load_policy(path)


def test_a_folder(tmp_path: Path):
    with pytest.raises(InputError, match="is damaged or not a safetensors file"):
        load_policy(tmp_path)


def test_somebody_else_s_safetensors(tmp_path: Path):
    path = tmp_path / "theirs.safetensors"
    save_file(some_policy().state_dict(), path)
    with pytest.raises(InputError, match=r"theirs\.safetensors was not written by gcbr"):
        load_policy(path)


def test_a_training_s_checkpoint_is_no_policy(tmp_path: Path):
    write_tensors(tmp_path / "checkpoint", some_policy().state_dict(), {"settings": {}, "episode": 3})
    with pytest.raises(InputError, match="checkpoint holds no policy"):
        load_policy(tmp_path / "checkpoint")


def test_columns_of_another_version(tmp_path: Path):
    path = tmp_path / "policy.safetensors"
    save_policy(path, some_policy(), replace(CARD, columns=("centrality", "betweenness")))
    message = "columns this version does not know: betweenness; it knows centrality, .*majority_score"
    with pytest.raises(InputError, match=message):
        load_policy(path)


@pytest.mark.parametrize(
    "policy", [some_policy(num_columns=3), some_policy(width=4)], ids=["columns", "width"]
)
def test_weights_that_do_not_fit_their_header(tmp_path: Path, policy: Policy):
    save_policy(tmp_path / "policy", policy, CARD)
    with pytest.raises(InputError, match="does not hold the weights its header describes"):
        load_policy(tmp_path / "policy")


def test_a_file_cut_short_anywhere(file: Path):
    content = file.read_bytes()
    for length in range(0, len(content), 7):
        file.write_bytes(content[:length])
        with pytest.raises(InputError, match="is damaged or not a safetensors file"):
            load_policy(file)


def test_a_byte_changed_anywhere(file: Path):
    """It is refused, or it made no difference: the name of a digest that is not looked for is lost."""
    content = file.read_bytes()
    harmless = 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= (0x01, 0x10, 0xFF)[place % 3]
        file.write_bytes(changed)
        with suppress(InputError):
            assert is_same(*load_policy(file)), place
            harmless += 1
    assert harmless < 20


def test_a_changed_weight_is_told_from_a_changed_header(file: Path):
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match="damaged: its weights do not match the digest in its header"):
        load_policy(file)
    file.write_bytes(content.replace(b"paper", b"pager"))
    with pytest.raises(InputError, match="damaged: its header does not match its digest"):
        load_policy(file)
    file.write_bytes(content.replace(b'"F32"', b'"I32"', 1))  # as many bytes, read as other numbers
    with pytest.raises(InputError, match="damaged: its header does not match its digest"):
        load_policy(file)
