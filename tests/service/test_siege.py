"""While others hold every place that they can have, the owner is answered and other sensors are lent work.

How quickly, `tests/service/siege.py` measures.
"""

import http.client
import json

import pytest

from tests.service import siege
from tests.service.running import running, wait_until

SMALL = """
from bestchannel.service import server
large = server.Limits
def small():
    limits = large()
    for room in vars(limits).values():
        room.most, room.most_each, room.reserve = 12, 6, 3
    for room in (limits.anonymous, limits.connections):
        room.most, room.most_each = 100, 50
    return limits
server.Limits = small
from bestchannel.cli import main
main()
"""

BIT = {"inputs": ["0", "1"], "outputs": ["0", "1"]}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with few places."""
    with running(tmp_path_factory.mktemp("siege"), "--lease", "0.2", program=["-c", SMALL]) as service:
        service.create("lab", channels={"cable": BIT, "radio": BIT})
        yield service


@pytest.mark.parametrize("names", [*([name] for name in siege.ATTACKS), list(siege.ATTACKS)], ids="+".join)
def test_owner_is_answered_while_others_hold_all_that_they_can(service, names):
    with siege.attacked(service, names, 150 * len(names)) as made:
        wait_until(lambda: made.value >= 150)
        for method, path, content, expected in siege.OWNER_CALLS:
            assert service.call(method, path, content)[0] == expected


def test_sensor_is_lent_work_though_another_token_leases_every_sense_by_itself(service):
    honest = service.tokens.made_for("sense", ["cable"])
    wish = {"sensor": "honest", "channels": ["cable"], "run": "lab", "wait": 5}
    with siege.attacked(service, ["one sense each on lease", "waiting leases"], 300) as made:
        wait_until(lambda: made.value >= 150)
        wait_until(lambda: service.call("POST", "/api/leases", wish, token=honest)[1].get("parts"))


def test_call_that_waits_is_given_up_when_its_client_leaves(service):
    token = service.tokens.made_for("sense", ["nothing"])
    wish = json.dumps({"sensor": "s", "channels": ["nothing"], "wait": 30})
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for _ in range(30):  # more than there are places
        leaving = http.client.HTTPConnection("127.0.0.1", service.port)
        leaving.request("POST", "/api/leases", wish, head)
        leaving.close()
    said = {"sensor": "s", "channels": ["nothing"], "wait": 0.01}
    wait_until(lambda: service.call("POST", "/api/leases", said, token=token)[0] == 200)
