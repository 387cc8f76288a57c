"""`timeveil serve`."""

from __future__ import annotations

from pathlib import Path

from timeveil.cli.options import Command
from timeveil.cli.output import Output
from timeveil.domain.parameter import optional, parameter
from timeveil.errors import ParameterError, raising


class Serve(Command):
    """Publish and judge in a browser on this machine: the same jobs as the other commands.

    Prints an address that works once. Only this machine can open it. Nothing is uploaded: tables are read,
    and releases written, below the folder served.

    Example: timeveil serve --root data
    """

    root: str = parameter("Folder to read tables from and to write releases to.", default=".", metavar="DIR")
    port: int = parameter("Port to listen on.", default=8765, at_least=1, at_most=65_535, metavar="N")
    host: str = parameter("Address to listen on, one of this machine's own.", default="127.0.0.1")
    expose_private_data_to_the_network: bool = parameter(
        "Allow another address: everybody who can reach it and has the link sees private data.", default=False
    )
    jobs: int = parameter(
        "Most tasks at a time, each in a process of its own.", default=3, at_least=1, at_most=64
    )
    stop_after: float | None = optional(
        "Stop after this many minutes without a request.", 30, "MINUTES", above=0
    )

    def run(self, output: Output) -> None:
        hint = "install what it needs: pip install 'timeveil[web]'"
        with raising(ParameterError("the web app is not installed", hint=hint), on=ModuleNotFoundError):
            from timeveil.web.app import Settings, serve

        settings = Settings(Path(self.root), self.host, self.port, self.jobs, self.stop_after)
        serve(settings, output.say, expose=self.expose_private_data_to_the_network)
