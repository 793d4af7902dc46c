"""How a run ends: an exit code, and one line on stderr where something was wrong."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

#: What the library advises, and how that is said at the command line.
_AS_OPTIONS = {
    "any_case=True": "--any-case",
    "overwrite=True": "--overwrite",
    "any_space=True": "--any-space",
    "such as port=": "such as --port ",
    "or fit the axis without asking how far it can be trusted": "or take densray fit --bare, which does not judge it",
    "axis, to be used on the space it was fitted on": "axis: densray induce, rotate and erase take it after the space",
    "word vectors, to be given as the space": "word vectors: it is given as the SPACE",
    "word list, to fit an axis from": "word list: it is given as LEXICON, and densray fit makes an axis of it",
    "bad_rows='skip'": "densray convert --skip-bad-rows",
    "(encoding='latin-1', say)": "(densray convert --encoding latin-1, say)",
    "or errors='replace', or": "or",
    "format='…'": "--format",
    "format='glove'": "densray convert --from glove",
    ", or name its encoding, for instance encoding='latin-1'": " (it may be latin-1)",
    ", or name its encoding, for instance encoding='utf-16'": " (it may be utf-16)",
    "(strength)": "(--strength)",
    "others with label_names=(low, high)": "others are named by --low and --high",
    "say header=True": "say which they are: --word-column, --label-column",
    "word_column=, label_column=": "--word-column, --label-column",
}
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
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            from densray.cli.app import command

            code = command()(args=arguments, prog_name="densray", standalone_mode=False)
            sys.stdout.flush()
        except KeyboardInterrupt:
            return _say("interrupted", code=INTERRUPTED)
        except (BrokenPipeError, SystemExit):  # typer meets a closed pipe by leaving at once
            return _leave_quietly()
        except Exception as error:
            return _explain(error)
    if code == INTERRUPTED:
        return _say("interrupted", code=INTERRUPTED)
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Let no stream fail on what is printed: a closed one swallows it, a narrow encoding shows ``?``."""
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _explain(error: Exception) -> int:
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
        return _say(_advise(str(error)), code=BAD_INPUT)
    if os.environ.get("DENSRAY_DEBUG"):
        traceback.print_exception(error)
    kind = type(error).__name__
    return _say(f"a defect in densray: {kind}: {error} (DENSRAY_DEBUG=1 shows where)", code=DEFECT)


def _advise(message: str) -> str:
    for argument, option in _AS_OPTIONS.items():
        message = message.replace(argument, option)
    return message


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(message: str, *, code: int) -> int:
    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in " ".join(message.split()))
    print(f"densray: {line}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}", code=0)


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
