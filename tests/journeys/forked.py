"""A program `bestchannel` for shells that need not wait for imports: each call is a fork of a process that has them.

For pages with many commands. To the shell it is the installed program: a process with its own folder, environment,
streams and exit code. Where the environment has something to say to Python itself, the installed program is what runs;
signals do not reach the fork. `python -m tests.journeys.forked SOCKET` is the process that is forked.
"""

import contextlib
import json
import os
import runpy
import shlex
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

INSTALLED = Path(sys.executable).with_name("bestchannel")
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
CLIENT = """
import json, os, socket, sys
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(sys.argv[1])
call = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
socket.send_fds(connection, [json.dumps(call).encode()], [0, 1, 2])
sys.exit(int(connection.recv(16) or b"70"))
"""


@contextlib.contextmanager
def program():
    """A folder for the path of a shell, with a `bestchannel` that works while the context lasts."""
    with tempfile.TemporaryDirectory() as name:  # a socket has a short name, unlike the folders of pytest
        folder, address = Path(name), f"{name}/socket"
        (folder / "client.py").write_text(CLIENT)
        words = [sys.executable, "-SI", str(folder / "client.py"), address]
        (folder / "bestchannel").write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (folder / "bestchannel").chmod(0o755)
        with subprocess.Popen([sys.executable, "-m", __name__, address], stdout=subprocess.PIPE) as server:
            assert server.stdout.readline() == b"ready\n"
            try:
                yield folder
            finally:
                server.terminate()


def serve(address):
    """Answer one call after another, each in a fork, for ever."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        load()
        print("ready", flush=True)
        while True:
            with listener.accept()[0] as connection:
                pid = os.fork()
                if pid == 0:
                    answer(connection)
            os.waitpid(pid, 0)


def load():
    """Import what the verbs import."""
    from tests.journeys.command import bestchannel

    with tempfile.TemporaryDirectory() as folder:
        channels = {"a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.8, 0.2], [0.2, 0.8]]}
        (Path(folder) / "channels.json").write_text(json.dumps({"channels": channels}))
        for words in (["bound"], ["identify", "--simulate"]):
            assert bestchannel(*words, "channels.json", cwd=folder).returncode == 0


def answer(connection):
    """Be the program for one call, and end."""
    content, streams, *_ = socket.recv_fds(connection, 1 << 20, 3)
    call = json.loads(content)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(call["folder"])
    if for_python(call["environment"]) != for_python(os.environ):
        code = subprocess.run([INSTALLED, *call["arguments"]], env=call["environment"], check=False).returncode
    else:
        code = called(call["arguments"], call["environment"])
    connection.send(str(code).encode())
    os._exit(0)


def for_python(environment):
    """What Python reads when it starts; that nothing is to be cached can be obeyed later."""
    names = [name for name in environment if name.startswith("PYTHON") and name != NO_BYTECODE]
    return {name: environment[name] for name in names}


def called(arguments, environment):
    """The exit code of the command line with these arguments in this environment."""
    os.environ.clear()
    os.environ.update(environment)
    sys.argv, sys.dont_write_bytecode = [str(INSTALLED), *arguments], NO_BYTECODE in environment
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
    try:
        runpy.run_path(str(INSTALLED), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    serve(sys.argv[1])
