"""Calls made from the OpenAPI description, right and wrong ones: no 500, no hang, the runs unharmed.

`python -m tests.service.test_description 20000` makes so many.
"""

import contextlib
import json
import sys
import tempfile
from collections import Counter

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from bestchannel.runs import read_run, view
from tests.service.instruments import ERRORS, adaptive, left_alone
from tests.service.running import TOKEN, running, sensing, wait_until

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def fuzzed(service, calls):
    """Make at least so many calls, and hold every answer against the description; the statuses."""
    schema = schemathesis.openapi.from_url(f"{service.address}/openapi.json")
    operations = [each.ok() for each in schema.get_all_operations()]
    finite = [each for each in operations if not each.path.endswith("/events")]  # events do not end
    strategies = [
        each.as_strategy(mode, path_parameters=names)
        for each in finite
        for mode in GenerationMode
        for names in ([None, {"run": "lab"}] if each.path.endswith(("{run}", "pieces")) else [None])
    ]
    made, session = Counter(), requests.Session()
    quiet = {"phases": [Phase.generate], "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

    for strategy in strategies:

        @settings(max_examples=-(-calls // len(strategies)), **quiet)
        @given(case=strategy)
        def one(case):
            if isinstance(case.body, dict) and isinstance(case.body.get("wait"), float | int):
                case.body["wait"] = min(case.body["wait"], 0.01)  # waiting for work is no fault
            response = case.call(session=session, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
            made[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

        with contextlib.suppress(Unsatisfiable):  # a call without parameters has no wrong ones
            one()
    return made


def whole(calls, folder):
    """Fuzz a service that has a run at work; then that run must end as if it had been left alone."""
    with running(folder) as service:
        service.create("lab")
        service.create("kept")
        with sensing(service.url("kept"), list(ERRORS)[:2]):
            made = fuzzed(service, calls)
        with sensing(service.url("kept"), list(ERRORS)) as states:
            wait_until(lambda: states)
        assert service.call("GET", "/healthz")[0] == 200
        assert not [line for line in service.logged() if line["event"] == "fault"]
    expected = left_alone(0, adaptive())
    found = read_run(service.folder / "runs" / "kept.db")
    assert (found.best, found.senses) == (expected.best, expected.senses)
    assert view(service.folder / "runs" / "lab.db").state
    return made


def test_no_call_makes_the_service_fail_and_answers_are_as_described(tmp_path):
    made = whole(300, tmp_path)
    assert made.total() > 200
    assert {200, 400, 404} <= made.keys()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        statuses = whole(int(sys.argv[1]), folder)
        print(json.dumps({"calls": statuses.total(), "statuses": dict(sorted(statuses.items()))}))
