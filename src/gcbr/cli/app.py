"""The program `gcbr`: its commands, and what becomes of mistakes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gcbr.cli import bench, classify, console, data, label, policies, run, strategies, suggest, train
from gcbr.errors import InputError

USER_MISTAKE = 2
NO_ROOM = 1
INTERRUPTED = 130

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, somebody's part of it, a file's largest size

app = typer.Typer(
    name="gcbr",
    help="Chooses which nodes of a graph to label next, "
    "so that a few labels, balanced over the classes, train the best classifier.",
    epilog="Try it with no network: [bold]gcbr run[/bold]",
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", epilog=run.EXAMPLE)(run.run)
app.command("label", epilog=label.EXAMPLE)(label.label)
app.command("suggest", epilog=suggest.EXAMPLE)(suggest.suggest)
app.command("classify", epilog=classify.EXAMPLE)(classify.classify)
app.command("train", epilog=train.EXAMPLE)(train.train)
app.command("bench", epilog=bench.EXAMPLE)(bench.bench)
app.command("policies", epilog=policies.EXAMPLE)(policies.policies)
app.command("strategies", epilog=strategies.EXAMPLE)(strategies.strategies)
app.add_typer(data.app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print("gcbr", version("gcbr"))
        raise typer.Exit


@app.callback()
def _gcbr(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    pass  # the help text is the app's own


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. A bug of ours is not caught: it ends in its traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = typer.main.get_command(app)
    try:
        # Not `command()`: it would frame mistakes in boxes and leave the process by itself.
        with command.make_context("gcbr", arguments or ["--help"]) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except (InputError, typer.TyperException) as mistake:
        console.complain(_sentence(mistake))
        return USER_MISTAKE
    except KeyboardInterrupt:
        console.complain("interrupted")
        return INTERRUPTED
    except OSError as problem:
        if problem.errno not in _NO_ROOM:
            raise
        where = f"{problem.filename} cannot be written" if problem.filename else "nothing more can be written"
        console.complain(f"{where} ({problem.strerror}); make room and give the same command again")
        return NO_ROOM
    return 0


def entry_point() -> None:
    """The console script: what belongs to a process of its own, around `main`."""
    for stream in (sys.stdout, sys.stderr):
        # Class names may hold letters that a terminal lacks: better a question mark than a traceback.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, `head` perhaps, has seen enough; closing the stream would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


def _sentence(mistake: InputError | typer.TyperException) -> str:
    if isinstance(mistake, InputError):
        return str(mistake)
    text = mistake.format_message().rstrip(".") + _given(mistake)
    context = getattr(mistake, "ctx", None)
    return text if context is None else f"{text} (see {context.command_path} --help)"


def _given(mistake: typer.TyperException) -> str:
    """What was given, where pydantic refused it: typer's message leaves that out."""
    from pydantic import ValidationError

    if not isinstance(mistake.__cause__, ValidationError):
        return ""
    return f", not {mistake.__cause__.errors()[0]['input']!r}"
