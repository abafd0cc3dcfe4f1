"""Run the command line, as `python -m bestchannel` does, or a script: here, or in a process of its own.

Here takes milliseconds, and is what most claims need. A process of its own, with its second of imports, is for
claims about processes: signals, pipes, limits, the environment that Python itself reads, the program that is installed.
"""

import contextlib
import io
import json
import os
import runpy
import signal
import subprocess
import sys
from unittest import mock


def bestchannel(*arguments, cwd=".", env=None):
    """The exit code, stdout and stderr of the command line, run in this process."""
    words = ["bestchannel", *map(str, arguments)]
    return _here(words, lambda: runpy.run_module("bestchannel", run_name="__main__", alter_sys=True), cwd, env)


def script(path, cwd):
    """The same of `python path`, run in this process."""
    return _here([str(path)], lambda: runpy.run_path(str(path), run_name="__main__"), cwd)


def _here(words, program, cwd, env=None):
    """Run a program as if it had this process to itself.

    An error that a user would see as a traceback is raised. What a program may change is put back: streams, arguments,
    folder, environment, handlers of signals.
    """
    stdout, stderr = _stream(), _stream()
    with (
        mock.patch.multiple(sys, argv=words, stdin=io.StringIO(), stdout=stdout, stderr=stderr),
        mock.patch.dict(os.environ, env or os.environ, clear=True),
        contextlib.chdir(cwd),
        _signals_kept(),
    ):
        code = _exit_code(program)
    return subprocess.CompletedProcess(words, code, _written(stdout), _written(stderr))


def process_of(*arguments, **options):
    """The same of a process of its own, which heeds Ctrl-C."""
    options = {"preexec_fn": _heed_interruption, **options}
    options = {"env": {**os.environ}, **options}  # not what readline, which pytest loads, has added beside os.environ
    return subprocess.run(_command(arguments), capture_output=True, text=True, check=False, **options)


def started(*arguments, **options):
    """A process of its own, at work, whose output can be read, and which heeds Ctrl-C."""
    options = {"preexec_fn": _heed_interruption, **options}
    pipe = subprocess.PIPE
    return subprocess.Popen(_command(arguments), stdout=pipe, stderr=pipe, text=True, **options)


def result_of(*arguments):
    """The exit code and the JSON result, which must be all that stands on stdout."""
    run = bestchannel(*arguments, "--json")
    return run.returncode, json.loads(run.stdout)


def _heed_interruption():
    """What a shell starts in the background ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _command(arguments):
    return [sys.executable, "-m", "bestchannel", *map(str, arguments)]


def _exit_code(program):
    """What Python would end with: a program ends by raising SystemExit, or by itself."""
    try:
        program()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0


def _stream():
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _written(stream):
    stream.flush()
    return stream.buffer.getvalue().decode()


@contextlib.contextmanager
def _signals_kept():
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
