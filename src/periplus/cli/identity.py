"""`periplus identity`: the key that signs the requests of a crawler. The work is in `parts.identity.key_files`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import click
import msgspec

from periplus.parts.identity.key_files import KeyRotation, load_key, make_key, state_of
from periplus.parts.identity.key_files import publish as publish_key
from periplus.parts.identity.key_files import rotate as rotate_key

from . import options
from .commands import Argument, CommandGroup, Option
from .consoles import stderr_console, stdout_console

identity = CommandGroup(
    "identity",
    "Make, replace and publish the key that signs your crawler's requests.\n\n"
    "Example: periplus identity new ~/.config/periplus/identity.pem",
)
_Key = Annotated[Path, Argument(metavar="KEY", help="The file of the key.")]
_NEXT_STEPS = {
    "made-next": "A new key was made beside it. Publish the directory now, and run the same command again in a day.",
    "switched": "Crawls that begin now sign with the new key. Run the same command again in a day to delete the old"
    " one.",
    "dropped-old": "The old key was deleted. Publish the directory once more.",
}


@identity.verb
def new(key: _Key, json: options.Json = False) -> None:
    """Make a key. Only you can read the file; it must not be in a collection.

    Example: periplus identity new ~/.config/periplus/identity.pem
    """
    make_key(key)
    _print(state_of(key), json=json)
    if not json:
        stderr_console().print(
            "Next: periplus identity publish KEY --agent https://HOST -o DIR, and serve DIR at that host.", markup=False
        )


@identity.verb
def rotate(key: _Key, json: options.Json = False) -> None:
    """Take the next step of replacing a key: publish a new one, sign with it, delete the old one, a day apart.

    Example: periplus identity rotate ~/.config/periplus/identity.pem
    """
    state, step = rotate_key(key, time.time())
    _print(state, json=json)
    if not json:
        stderr_console().print(_NEXT_STEPS[step], markup=False)


@identity.verb
def show(key: _Key, json: options.Json = False) -> None:
    """Show the thumbprint of a key, and how far its replacement is. Nothing secret is shown.

    Example: periplus identity show ~/.config/periplus/identity.pem
    """
    _print(state_of(key), json=json)


@identity.verb
def publish(
    key: _Key,
    agent: Annotated[str, Option("--agent", metavar="ORIGIN", help="The host that will serve the files.")],
    out: Annotated[Path, Option("--output", "-o", metavar="DIR", help="The folder to write to.")],
    name: Annotated[str, Option("--name", help="The name of the crawler.")] = "Periplus",
    contact: Annotated[
        list[str] | None, Option("--contact", metavar="URI", help="A mailto: or https: URI; may be repeated.")
    ] = None,
    product: Annotated[str, Option("--product", help="The product token that sites use in robots.txt.")] = "Periplus",
    json: options.Json = False,
) -> None:
    """Write the directory of the key, and a card of the crawler, for the host that publishes them.

    Example: periplus identity publish identity.pem --agent https://signer.example.org -o public
    """
    load_key(key)
    written = publish_key(key, out, agent, time.time(), name=name, contacts=tuple(contact or ()), token=product)
    if json:
        click.echo(msgspec.json.encode({"written": [str(path) for path in written]}))
        return
    for path in written:
        stdout_console().print(str(path), markup=False, soft_wrap=True)


def _print(state: KeyRotation, *, json: bool) -> None:
    if json:
        click.echo(msgspec.json.encode(state))
        return
    console = stdout_console()
    console.print(f"key:  {state.key}", markup=False)
    if state.next is not None:
        console.print(f"next: {state.next}", markup=False)
    if state.old is not None:
        console.print(f"old:  {state.old}", markup=False)
    if state.step_after is not None:
        after = datetime.fromtimestamp(state.step_after, UTC)
        console.print(f"next step: {state.step}, after {after:%Y-%m-%d %H:%M} UTC", markup=False)
