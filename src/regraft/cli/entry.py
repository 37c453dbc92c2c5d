"""The command group: which commands there are, and how every fault ends.

Exit codes: 0 success, 2 bad input or wrong use (one line on standard error, never a traceback), 1
failure, 130 interrupted with nothing to show. Commands load what they need when they run, so that
`regraft --help` answers at once.
"""

import io
import os
import sys
from typing import Any

import click

from regraft import __version__
from regraft.cli.help_headings import LazyGroup
from regraft.cli.watching import planner_is_running
from regraft.model import BadInput, RegraftError

SECTIONS = {
    "Try it": {"demo": "demo_command:demo"},
    "Run an overlay": {
        "up": "up_command:up",
        "broker": "broker_command:broker",
        "topology": "topology_command:topology",
    },
    "Publish and subscribe": {"pub": "pub_command:pub", "sub": "sub_command:sub"},
    "Measure and design": {
        "measure": "measure_command:measure",
        "costs": "costs_command:costs",
        "evaluate": "evaluate_command:evaluate",
        "design": "design_command:design",
    },
    "Plan and change": {
        "plan": "plan_command:plan",
        "apply": "apply_command:apply",
        "rearrange": "rearrange_command:rearrange",
    },
    "Run the loop": {"serve": "serve_command:serve", "what-if": "what_if_command:what_if"},
    "Keep it healthy": {
        "brokers": "brokers_command:brokers",
        "rules": "rules_command:rules",
        "components": "components_command:components",
        "znode": "znode_command:znode",
    },
    "Program switches": {"routes": "routes_command:routes"},
    "Do research": {"lab": "lab_command:lab", "generate": "generate_command:generate"},
    "Set up": {
        "init": "init_command:init",
        "doctor": "doctor_command:doctor",
        "completion": "completion_command:completion",
    },
}
"""What people do → the commands for it, each as module:name."""
COMMANDS = {name: place for commands in SECTIONS.values() for name, place in commands.items()}
EXTRAS = {
    "asyncpg": "postgres",
    "cryptography": "components",
    "deltalake": "spark",
    "fastapi": "web",
    "matplotlib": "draw",
    "pandas": "spark",
    "prometheus_client": "web",
    "pydantic": "web",
    "pyspark": "spark",
    "starlette": "web",
    "uvicorn": "web",
}
"""Imported package → the extra (pyproject.toml) that installs it; pydantic and starlette come with fastapi.

`pip install regraft` installs what planning, designing, routing, brokers and clients need. Code that needs
one of these packages imports it when it runs, and a failed import becomes the line of `missing_extra`.
"""


class MainGroup(LazyGroup):
    """All commands under the headings of `SECTIONS`; reports every fault as one line."""

    places = COMMANDS

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, names in SECTIONS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(formatter.width - width - 4))
                        for name, command in commands
                        if command is not None
                    ]
                )

    def main(self, *args: Any, **options: Any) -> Any:
        """Ends as the module's docstring says; click itself would print several lines."""
        options["standalone_mode"] = False
        sys.exit(_run(lambda: super(MainGroup, self).main(*args, **options)))

    def __call__(self, *args: Any, **options: Any) -> Any:
        try:
            return self.main(*args, **options)
        except SystemExit as end:
            if planner_is_running():  # left behind by a second Ctrl-C; a normal exit would wait for it
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(end.code if isinstance(end.code, int) else 1)
            raise


def _run(command: Any) -> int:
    """Run the command and turn what happens into an exit code."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the terminal's encoding may lack characters of an id
            stream.reconfigure(errors="backslashreplace")
    try:
        code = command()
        sys.stdout.flush()
    except (BadInput, click.ClickException) as fault:
        return _refuse(fault)
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted, nothing found yet" if planner_is_running() else "interrupted", 130)
    except BrokenPipeError:
        _drop_output()  # the reader has ended (`| head`): there is nothing more to say
        return 1
    except RegraftError as fault:
        return _say(str(fault), 1)
    except Exception as fault:
        if os.environ.get("REGRAFT_TRACEBACK"):
            raise
        if isinstance(fault, OSError):
            _drop_output()
        unknown = f"{type(fault).__name__}: {fault} (REGRAFT_TRACEBACK=1 shows where)"
        return _say(missing_extra(fault) or unknown, 1)
    return code if isinstance(code, int) else 0


def missing_extra(fault: BaseException) -> str | None:
    """One line that says which extra is missing; None if that is not what went wrong."""
    if not isinstance(fault, ModuleNotFoundError) or fault.name is None:
        return None
    package = fault.name.partition(".")[0]
    if package not in EXTRAS:
        return None
    return (
        f"this needs the package {package}, which is not installed: pip install 'regraft[{EXTRAS[package]}]'"
    )


def _drop_output() -> None:
    """Discard what is not written yet: flushing it at exit would fail again, with another exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """A stream that the caller has closed (`>&-`) is None, and the next open file would take its number."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _refuse(fault: BadInput | click.ClickException) -> int:
    if isinstance(fault, BadInput):
        return _say(str(fault), 2)
    if isinstance(fault, click.exceptions.NoArgsIsHelpError):
        fault.show()
        return 2
    if isinstance(fault, click.UsageError):
        path = fault.ctx.command_path if fault.ctx else "regraft"
        return _say(f"{fault.format_message()} (see {path} --help)", 2)
    return _say(fault.format_message(), 1)


def _say(text: str, code: int) -> int:
    click.echo("regraft: " + " ".join(text.split()), err=True)
    return code


@click.group("regraft", cls=MainGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="regraft")
def main() -> None:
    """Keep a publish/subscribe network in the shape that its traffic needs, while it runs.

    \b
    Start here:
      regraft demo                        # 24 brokers, the loop, a crash: three minutes
      regraft plan now.json better.json   # the steps from one tree to another
      regraft up tree.json                # its brokers, here; in other terminals:
      regraft sub "temp > 20"             # print events that match
      regraft pub temp=21.5               # publish one

    `regraft COMMAND --help` shows files, options and examples; --help-all, also the options that few
    need. Every command takes --json: on success, one JSON object on standard output; everything else,
    such as the one line of an error, is on standard error. Exit codes: 0 success, 2 bad input (the line
    says where and why), 1 failure.
    """
