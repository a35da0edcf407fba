"""Several policies as one file: it scores as they do in the mean, and says where each comes from."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gcbr.actions import ActionSpace
from gcbr.checkpoints import PolicyCard, load_policy, save_policy
from gcbr.committees import join, seeds
from gcbr.engine.matrix import Csr, normalized_adjacency
from gcbr.errors import InputError
from gcbr.policy import Policy
from gcbr.seeding import generator, seeded

CARD = PolicyCard(
    method="gcbr",
    columns=("centrality", "uncertainty"),
    width=2,
    features="paper",
    sources=("cora",),
    episodes=7,
    settings={"train": {"seed": 1, "discount": 0.9}, "env": {"budget": 35}},
    curve=[{"episode": 5, "reward": 1.0}, {"episode": 7, "reward": 3.0}],
    version="0.0.1",
)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Of seeds 1 and 2, the second played on longer and on photo as well."""
    other = replace(
        CARD,
        sources=("cora", "photo"),
        episodes=9,
        settings={"train": {"seed": 2, "discount": 0.9}, "env": {"budget": 35}},
        curve=[{"episode": 5, "reward": 2.0}, {"episode": 7, "reward": 5.0}, {"episode": 9, "reward": 8.0}],
    )
    paths = []
    for seed, card in enumerate([CARD, other], start=1):
        paths.append(tmp_path / f"{seed}.safetensors")
        with seeded(generator(seed)):
            save_policy(paths[-1], Policy(2, 2), card)
    return paths


def test_the_file_scores_as_its_members_do_in_the_mean(files: list[Path], tmp_path: Path):
    join(files, tmp_path / "both.safetensors")
    ends = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    propagation = normalized_adjacency(Csr.from_entries(*ends, torch.ones(4), (4, 4)))
    states = torch.rand(1, 4, 2, generator=generator(3))
    one, other, both = (
        load_policy(path)[0].scores(propagation, states) for path in [*files, tmp_path / "both.safetensors"]
    )
    torch.testing.assert_close(both, (one + other) / 2)
    assert not torch.allclose(one, other)


def test_the_card_has_what_they_share_and_what_each_has_of_its_own(files: list[Path], tmp_path: Path):
    card = join(files, tmp_path / "both.safetensors")
    assert card == load_policy(tmp_path / "both.safetensors")[1]
    assert card.width == 4
    assert card.sources == ("cora", "photo")
    assert card.episodes == 16
    assert card.settings == {"train": {"seed": [1, 2], "discount": 0.9}, "env": {"budget": 35}}
    assert card.curve == [{"episode": 5, "reward": 1.5}, {"episode": 7, "reward": 4.0}]
    assert seeds(card) == [1, 2]
    assert seeds(CARD) == [1]


def test_a_committee_may_be_a_member(files: list[Path], tmp_path: Path):
    join(files, tmp_path / "both.safetensors")
    card = join([tmp_path / "both.safetensors", files[0]], tmp_path / "more.safetensors")
    assert card.width == 6
    assert seeds(card) == [1, 2, 1]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"method": "gcbr++"}, "other method"),
        ({"columns": ("centrality", "selectivity")}, "other columns"),
        ({"features": "default"}, "other features"),
        ({"actions": ActionSpace(coarse=True)}, "other actions"),
    ],
)
def test_members_of_another_kind_are_refused(files: list[Path], tmp_path: Path, changed, words: str):
    stranger = tmp_path / "stranger.safetensors"
    save_policy(stranger, load_policy(files[0])[0], replace(CARD, **changed))
    with pytest.raises(InputError, match=f"stranger.safetensors has {words} than .*1.safetensors"):
        join([*files, stranger], tmp_path / "all.safetensors")
    assert not (tmp_path / "all.safetensors").exists()


def test_one_member_is_no_committee_and_no_file_is_written_over(files: list[Path], tmp_path: Path):
    with pytest.raises(InputError, match="two members or more"):
        join(files[:1], tmp_path / "one.safetensors")
    before = files[1].read_bytes()
    with pytest.raises(InputError, match="exists already"):
        join(files, files[1])
    assert files[1].read_bytes() == before
