"""How a run ends: an exit code, and one line on stderr if something went wrong."""

from __future__ import annotations

import codecs
import functools
import io
import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

BAD_INPUT = 2
INTERRUPTED = 130
DEFECT = 1


def main() -> None:
    """Run ``densray`` with the arguments of the process, and exit with its code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a kill cleans up like Ctrl-C
    _prepare_streams()
    code = run()
    if code == INTERRUPTED:
        _leave_at_once(code)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run ``densray`` and return its exit code: 0, 2 for bad input, 130 when interrupted, 1 for a defect."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = functools.partial(_warn, given)
        try:
            from densray.cli.app import command

            code = command()(args=arguments, prog_name="densray", standalone_mode=False)
            sys.stdout.flush()
        except KeyboardInterrupt:
            return _say("interrupted", code=INTERRUPTED)
        except (BrokenPipeError, SystemExit):  # typer exits at once on a closed pipe
            return _leave_quietly()
        except Exception as error:
            return _explain(error, given)
    if code == INTERRUPTED:
        return _say("interrupted", code=INTERRUPTED)
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Make printing safe: a closed stream swallows output, a narrow encoding gets the nearest character."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream, otherwise in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        name = f"nearest sign or {otherwise}"
        codecs.register_error(name, functools.partial(_nearest_sign, codecs.lookup_error(otherwise)))
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=name)


def _nearest_sign(otherwise: Any, error: UnicodeEncodeError) -> tuple[str | bytes, int]:
    """Return the replacement of a character that the encoding lacks (``-`` for a minus sign), and where it ends."""
    from densray.report import PLAIN_SIGNS

    error.end = error.start + 1
    nearest = PLAIN_SIGNS.get(error.object[error.start])
    found: tuple[str | bytes, int] = otherwise(error) if nearest is None else (nearest, error.end)
    return found


def _explain(error: Exception, arguments: Sequence[str]) -> int:
    if hasattr(error, "format_message"):  # wrong usage, found by typer
        from densray.cli.app import renamed

        return _say(renamed(arguments) or error.format_message(), code=BAD_INPUT)
    if isinstance(error, OSError):
        return _say(_describe_os_error(error), code=BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("not enough memory for this input; --limit reads fewer words", code=BAD_INPUT)
    from densray.cli.terminal import InterruptedRun
    from densray.errors import DensRayError

    if isinstance(error, InterruptedRun):
        return _say(str(error), code=INTERRUPTED)

    if isinstance(error, DensRayError):
        return _say(in_options(error, arguments), code=BAD_INPUT)
    if os.environ.get("DENSRAY_DEBUG"):
        traceback.print_exception(error)
    kind = type(error).__name__
    return _say(f"a defect in densray: {kind}: {error} (DENSRAY_DEBUG=1 shows where)", code=DEFECT)


#: Options that other commands take for tables alone, and the command that takes them for a space.
_OF_SPACES = {"--bad-rows": "convert"}
#: Options that have another name than the argument.
_RENAMED = {"vectors": "vector_column"}


def in_options(message: object, arguments: Sequence[str] = ()) -> str:
    """Return the message of an error or a warning with its arguments written as options of the command line.

    An option has the name of the argument: ``limit=5`` becomes ``--limit 5``, ``any_case=True`` becomes ``--any-case``
    and ``n_axes`` becomes ``--n-axes``. If the running command has no such option, the message names a command that
    has it.

    >>> from densray.errors import Argument, DensRayError
    >>> in_options(DensRayError("Use ", Argument("any_case", True), ", or ", Argument("limit", 5), "."), ["induce"])
    'Use --any-case, or --limit 5.'
    >>> in_options(DensRayError("Leave such rows out with ", Argument("bad_rows", "skip"), "."), ["induce"])
    'Leave such rows out with densray convert --bad-rows skip.'
    """
    from densray.cli.app import command, options_of, running
    from densray.errors import Argument, Message, TableError, ZeroVectorWarning

    if not isinstance(message, Message):
        return str(message)
    homes, here = options_of(command()), running(arguments)

    def written(argument: Argument) -> str:
        name = _RENAMED.get(argument.name, argument.name).replace("_", "-")
        option = f"--{'no-' if argument.value is False else ''}{name}"
        if option not in homes:
            return str(argument)
        commands = homes[option]
        if option in _OF_SPACES and not isinstance(message, TableError | ZeroVectorWarning):
            commands = [_OF_SPACES[option]]
        place = "" if here in commands or not here else f"densray {commands[0]} "
        takes_value = argument.has_value and not isinstance(argument.value, bool)
        return f"{place}{option} {_typed(argument.value)}" if takes_value else f"{place}{option}"

    return message.written(written)


def _typed(value: object) -> str:
    """Return a value as it is typed after an option: several are separated by commas."""
    return shlex.quote(",".join(map(str, value)) if isinstance(value, list | tuple) else str(value))


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(message: str, *, code: int) -> int:
    from densray.cli.terminal import complain

    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in " ".join(message.split()))
    complain(line)
    return code


def _warn(arguments: Sequence[str], message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {in_options(message, arguments)}", code=0)


def _leave_at_once(code: int) -> None:
    """Exit without waiting for threads whose results are no longer needed; all files are closed."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _leave_quietly() -> int:
    # The reader of the output has gone (`densray … | head`): write nothing more, not even at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
