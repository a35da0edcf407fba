"""`gcbr train`: teaches a policy on labeled graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gcbr.cli import console, progress
from gcbr.cli.devices import DeviceName, find_device
from gcbr.cli.options import AsJson, DataFolder

if TYPE_CHECKING:
    from gcbr.checkpoints import PolicyCard

EXAMPLE = "Example: [bold]gcbr train cora --method gcbr++ --out my-policy.safetensors[/bold]"


def train(
    sources: Annotated[
        list[str], typer.Argument(help="Labeled graphs to train on, one after another in turn.")
    ] = ["cora"],  # noqa: B006 (typer reads it; nobody changes it)
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The policy; its log and checkpoint stand beside it.")
    ] = Path("policy.safetensors"),
    method: Annotated[
        str, typer.Option(metavar="NAME", help="gcbr, gcbr++, gpa, allie or bigene.")
    ] = "gcbr++",
    episodes: Annotated[
        int, typer.Option(min=1, metavar="N", help="Episodes, each one pass of all parallel games.")
    ] = 4000,
    budget: Annotated[int, typer.Option(min=1, metavar="B", help="Labels in a game.")] = 35,
    parallel: Annotated[int, typer.Option(min=1, metavar="E", help="Games played side by side.")] = 5,
    update_every: Annotated[
        int, typer.Option(min=1, metavar="F", help="Steps between two updates of gcbr and gcbr++.")
    ] = 7,
    alpha: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Weight of performance gain against class diversity, in gcbr and gcbr++. \\[default: 0.5]",
            show_default=False,
        ),
    ] = None,
    eta: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Penalty for majority classes, in gcbr and gcbr++. \\[default: the method's]",
            show_default=False,
        ),
    ] = None,
    discount: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Weight of what comes a step later. \\[default: the method's]",
            show_default=False,
        ),
    ] = None,
    standardize: Annotated[
        bool | None,
        typer.Option(
            "--standardize/--as-they-are",
            help="Rewards scaled by the running mean and deviation of their step, or not. "
            "\\[default: the method's]",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Nodes chosen before any is answered. \\[default: 5 for bigene, 1 for all others]",
            show_default=False,
        ),
    ] = None,
    coarse: Annotated[
        bool, typer.Option("--coarse", help="Choose among one node of each neighborhood, on large graphs.")
    ] = False,
    focal: Annotated[
        float, typer.Option(min=0, help="Gamma of a focal loss in the classifier; 0 is cross-entropy.")
    ] = 0.0,
    classifier: Annotated[
        str, typer.Option(metavar="FORM", help="Of the GCN: usual, or authors, as in the paper's code.")
    ] = "usual",
    guises: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Play on N guises of each source as well: some of its classes, rescaled."
        ),
    ] = 0,
    broad: Annotated[
        bool,
        typer.Option(
            "--broad", help="Guises with merged or halved classes, other edges and fewer features, too."
        ),
    ] = False,
    start: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Begin with this policy; columns it did not read weigh nothing."),
    ] = None,
    centrality: Annotated[
        str,
        typer.Option(
            metavar="SCALE",
            help="How gcbr and gcbr++ read PageRank: log, or relative to the largest hub's.",
        ),
    ] = "log",
    diversity: Annotated[
        str,
        typer.Option(
            metavar="SCALE",
            help="How gcbr and gcbr++ read class diversity: plain, relative to the rarest class's, or paced "
            "by the budget.",
        ),
    ] = "plain",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of weights and games.")] = 0,
    features: Annotated[
        str, typer.Option(metavar="RULE", help="Feature scaling: default or paper.")
    ] = "default",
    keep_every: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Keep a copy of the policy every N episodes as well."),
    ] = None,
    checkpoint_seconds: Annotated[
        float, typer.Option(min=0, metavar="S", help="Time between two checkpoints.")
    ] = 30.0,
    data: DataFolder = None,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Log for TensorBoard as well.")
    ] = None,
    json: AsJson = False,
    device: DeviceName = "cpu",
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Threads; one is fastest.")] = 1,
) -> None:
    """Train a policy; a run that was stopped, or killed, goes on where it stood."""
    import torch

    from gcbr.classifier import find_classifier
    from gcbr.datasets import load_dataset
    from gcbr.datasets.guises import guises as guises_of
    from gcbr.engine.memory import keep_freed_memory
    from gcbr.environment import EnvConfig
    from gcbr.errors import InputError
    from gcbr.trainer import TrainConfig
    from gcbr.training import env_config, train_config, train_policy

    if broad and not guises:
        raise InputError("--broad says what guises are like; say how many with --guises")
    torch.set_num_threads(threads)
    keep_freed_memory()
    where = find_device(device)
    taught = replace(find_classifier(classifier), focal=focal)
    base = EnvConfig(budget=budget, episodes=parallel, classifier=taught)
    env = env_config(method, base, alpha, eta, batch, coarse, centrality, diversity)
    config = train_config(
        method, TrainConfig(episodes=episodes, update_every=update_every, seed=seed), discount, standardize
    )
    with progress.downloads() as downloads:
        loaded = [
            load_dataset(name, data_dir=data, features=features, progress=downloads.report)
            for name in sources
        ]
    wanted = loaded if guises else []
    others = [guise for dataset in wanted for guise in guises_of(dataset, guises, broad=broad)]
    datasets = [dataset.to(where) for dataset in [*loaded, *others]]
    writer = _writer(tensorboard)
    with progress.training(episodes) as bar:

        def played(trainer: Any) -> None:
            bar.played(trainer.episode, trainer.curve)
            for key, value in trainer.curve[-1].items():
                writer.add_scalar(key, value, trainer.episode)

        card = train_policy(
            datasets,
            method,
            env,
            config,
            out,
            start=start,
            checkpoint_seconds=checkpoint_seconds,
            keep_every=keep_every,
            on_episode=played,
        )
    writer.close()
    _show(card, out, json)


class _NoWriter:
    """Stands in where no log for TensorBoard is wanted."""

    def add_scalar(self, key: str, value: float, episode: int) -> None:
        pass

    def close(self) -> None:
        pass


def _writer(folder: Path | None) -> Any:
    if folder is None:
        return _NoWriter()
    from gcbr.errors import InputError

    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("--tensorboard needs an extra: pip install 'gcbr[track]'") from None
    return SummaryWriter(str(folder))


def _show(card: PolicyCard, out: Path, as_json: bool) -> None:
    end = card.curve[-1]
    if as_json:
        from dataclasses import asdict
        from json import dumps

        print(dumps({"policy": str(out), **asdict(card)}))
        return
    console.results().print(
        f"{out}: {card.method} after {card.episodes} episodes on {', '.join(card.sources)}; last "
        f"episodes: reward {end['reward']:.2f}, Macro-F1 {100 * end['macro_f1']:.1f}, "
        f"imbalance ratio {end['imbalance_ratio']:.2f}, policy entropy {end['entropy']:.2f}",
        soft_wrap=True,
    )
