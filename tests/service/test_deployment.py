"""What systemd and a container start is a service that is healthy, has its runs in its folder, and ends with 0."""

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.service.faults import free_port

DEPLOYMENT = Path(__file__).parents[2] / "deployment"


def of_unit():
    """The command of the unit, and its environment."""
    text = (DEPLOYMENT / "bestchannel.service").read_text()
    command = shlex.split(re.search(r"(?m)^ExecStart=(.*)$", text)[1])
    return command, dict(pair.split("=", 1) for pair in re.search(r"(?m)^Environment=(.*)$", text)[1].split())


def of_image():
    """The command of the image, and its environment, which is that of its user."""
    return json.loads(re.search(r"(?m)^ENTRYPOINT (.*)$", (DEPLOYMENT / "Containerfile").read_text())[1]), {}


@pytest.mark.parametrize("described", [of_unit, of_image])
def test_what_is_deployed_starts_is_healthy_and_ends_with_0(described, tmp_path):
    command, settings = described()
    runs, port = tmp_path / "runs", free_port()
    command = [word.replace("/var/lib/bestchannel", str(runs)).replace("0.0.0.0", "127.0.0.1") for word in command]
    command = [str(runs) if word == "/runs" else word for word in command if word not in ("--port", "8484")]
    command[command.index("bestchannel") : command.index("bestchannel") + 1] = [sys.executable, "-m", "bestchannel"]
    settings = {key: value.replace("/var/lib/bestchannel", str(tmp_path)) for key, value in settings.items()}
    environment = os.environ | settings | {"BESTCHANNEL_TOKEN": "0123456789abcdefghij"}
    with subprocess.Popen(
        [*command, "--port", str(port)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout.readline().startswith(f"http://127.0.0.1:{port}/")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
            assert json.load(answer) == {"status": "ok"}
        service.terminate()
        assert service.wait() == 0
        assert '"ended"' in service.stderr.read()
    assert runs.is_dir()


def test_the_health_check_of_the_image_asks_what_the_service_answers():
    text = (DEPLOYMENT / "Containerfile").read_text()
    assert "http://127.0.0.1:8484/healthz" in re.search(r"(?m)^HEALTHCHECK (.*)$", text)[1]
    assert re.search(r"(?m)^EXPOSE 8484$", text)
