"""How a run ends: an exit code, and one line on stderr where something was wrong."""

from __future__ import annotations

import codecs
import functools
import io
import os
import re
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
    """Run ``densray`` with the arguments of the process, and leave with its exit code."""
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
        except (BrokenPipeError, SystemExit):  # typer meets a closed pipe by leaving at once
            return _leave_quietly()
        except Exception as error:
            return _explain(error, given)
    if code == INTERRUPTED:
        return _say("interrupted", code=INTERRUPTED)
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Let no stream fail on what is printed: a closed one swallows it, a narrow encoding shows the nearest sign."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream, otherwise in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        name = f"nearest sign or {otherwise}"
        codecs.register_error(name, functools.partial(_nearest_sign, codecs.lookup_error(otherwise)))
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=name)


def _nearest_sign(otherwise: Any, error: UnicodeEncodeError) -> tuple[str | bytes, int]:
    """Return what is printed for a sign that an encoding does not have: ``-`` for a true minus; how far that goes."""
    from densray.report._table import PLAIN_SIGNS

    error.end = error.start + 1
    nearest = PLAIN_SIGNS.get(error.object[error.start])
    found: tuple[str | bytes, int] = otherwise(error) if nearest is None else (nearest, error.end)
    return found


def _explain(error: Exception, arguments: Sequence[str]) -> int:
    if hasattr(error, "format_message"):  # wrong usage, told by typer
        return _say(error.format_message(), code=BAD_INPUT)
    if isinstance(error, OSError):
        return _say(_describe_os_error(error), code=BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("not enough memory for this input; --limit reads fewer words", code=BAD_INPUT)
    from densray.cli.terminal import InterruptedRun
    from densray.errors import DensRayError

    if isinstance(error, InterruptedRun):
        return _say(str(error), code=INTERRUPTED)

    if isinstance(error, DensRayError):
        return _say(in_options(str(error), arguments), code=BAD_INPUT)
    if os.environ.get("DENSRAY_DEBUG"):
        traceback.print_exception(error)
    kind = type(error).__name__
    return _say(f"a defect in densray: {kind}: {error} (DENSRAY_DEBUG=1 shows where)", code=DEFECT)


def in_options(message: str, arguments: Sequence[str] = ()) -> str:
    """Return a message of the library with the options of the command line in place of the arguments it names.

    Both have the same names, so this needs no table: ``limit=5`` is ``--limit 5``, ``any_case=True`` is ``--any-case``
    and ``n_axes`` is ``--n-axes``. Where the command that runs has no such option, one that has it is named.

    >>> in_options("Use any_case=True, or limit=5.", ["induce"])
    'Use --any-case, or --limit 5.'
    >>> in_options("Leave such rows out with bad_rows='skip'.", ["induce"])
    'Leave such rows out with densray convert --bad-rows skip.'
    """
    from densray.cli.app import command, options_of, running
    from densray.errors import ARGUMENT

    homes = options_of(command())
    here = running(arguments)

    def said(match: re.Match[str]) -> str:
        name, value = match["name"] or match["alone"], match["value"] or ""
        option = f"--{'no-' if value == 'False' else ''}{name.replace('_', '-')}"
        if option not in homes:
            return match[0]
        place = "" if here in homes[option] or not here else f"densray {homes[option][0]} "
        shown = "" if value in ("True", "False", "'…'") else ",".join(re.findall(r"[^\s()',]+", value))
        return f"{place}{option} {shown}".rstrip()

    return ARGUMENT.sub(said, message)


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(message: str, *, code: int) -> int:
    from densray.cli.terminal import complain

    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in " ".join(message.split()))
    complain(line)
    return code


def _warn(arguments: Sequence[str], message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {in_options(str(message), arguments)}", code=0)


def _leave_at_once(code: int) -> None:
    """Leave without waiting for threads that still compute what nobody wants any more; files are closed by now."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _leave_quietly() -> int:
    # The reader of our output has gone (`densray … | head`): nothing more may be written, not even at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
