"""Each rule of the service, with a client that breaks it: refused, and logged."""

import http.client
import socket
import time

import pytest

from bestchannel.service import guard
from tests.service.instruments import CHANNELS
from tests.service.running import TOKEN, running


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("rules")) as service:
        service.create("lab")
        yield service


def refused(service, rule):
    """The last refusal in the log, which must be by this rule."""
    last = [line for line in service.logged() if line["event"] == "refused"][-1]
    assert last["rule"] == rule, last
    return last


def test_without_a_token_nothing_is_read_and_nothing_is_done(service):
    for method, path in [
        ("GET", "/api/runs"), ("GET", "/api/runs/lab"), ("GET", "/api/runs/lab/file"), ("GET", "/metrics"), ("GET", "/runs/lab/events"),
        ("POST", "/api/runs"), ("PATCH", "/api/runs/lab"), ("POST", "/api/leases"), ("POST", "/api/runs/lab/pieces"), ("POST", "/api/tokens"),
    ]:  # fmt: skip
        status, answer, _ = service.call(method, path, token=None)
        assert (status, answer) == (401, {"error": "this requires a token"})
        refused(service, "token")


@pytest.mark.parametrize("token", ["x" * 24, "view..x", "own..", "sense." + "A" * 100, "é" * 20, "view" + "." * 5000])
def test_a_token_that_is_none_is_refused(service, token):
    status, _, _ = service.call("GET", "/api/runs", token=None, headers={"Authorization": f"Bearer {token}".encode()})
    assert status == 401
    refused(service, "token")


def test_a_token_to_look_neither_senses_nor_owns(service):
    token = service.tokens.made_for("view")
    assert service.call("GET", "/api/runs", token=token)[0] == 200
    wish = {"sensor": "s", "channels": ["cable"]}
    for method, path, content in [
        ("POST", "/api/leases", wish),
        ("POST", "/api/runs", {}),
        ("PATCH", "/api/runs/lab", {"end": True}),
        ("POST", "/api/tokens", {"scope": "view"}),
    ]:
        assert service.call(method, path, content, token=token)[0] == 403
        assert refused(service, "scope")["scope"] == "view"


def test_a_token_to_sense_reaches_its_channels_and_nothing_else(service):
    token = service.tokens.made_for("sense", ["cable"])
    status, lent, _ = service.call(
        "POST", "/api/leases", {"sensor": "s", "channels": ["cable"], "most": 3}, token=token
    )
    assert status == 200
    assert {part["channel"] for part in lent["parts"]} == {"cable"}
    for wish in ({"channels": ["radio"]}, {"channels": ["cable", "radio"]}):
        assert service.call("POST", "/api/leases", {"sensor": "s", **wish}, token=token)[0] == 403
    piece = {"channel": "radio", "x": "0", "start": 0, "counts": {"0": 1}}
    assert service.call("POST", "/api/runs/lab/pieces", {"request": 1, "pieces": [piece]}, token=token)[0] == 403
    for path in ("/api/runs", "/api/runs/lab", "/runs/lab/events", "/metrics", "/api/runs/lab/file"):
        assert service.call("GET", path, token=token)[0] == 403
        refused(service, "scope")


def test_a_sensor_does_not_learn_of_runs_without_its_channels(service):
    token = service.tokens.made_for("sense", ["elsewhere"])
    wish = {"sensor": "s", "channels": ["elsewhere"]}
    there, missing = (service.call("POST", "/api/leases", {**wish, "run": run}, token=token) for run in ("lab", "none"))
    assert there[0] == missing[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1", "localhost.evil"]
)
def test_a_name_that_the_service_does_not_have_is_refused(service, host):
    status, answer, _ = service.call("GET", "/api/runs", headers={"Host": host})
    assert status == 403
    assert "name" in answer["error"]
    refused(service, "host")


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:99"])
def test_loopback_has_its_names_whatever_the_port_of_a_tunnel(service, host):
    assert service.call("GET", "/api/runs", headers={"Host": host})[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_another_site_can_not_make_a_browser_change_anything(service, origin):
    wish = {"name": "forged", "channels": CHANNELS}
    assert service.call("POST", "/api/runs", wish, headers={"Origin": origin})[0] == 403
    refused(service, "origin")
    cookie = {"Cookie": f"bestchannel-{service.port}={TOKEN}", "Origin": origin}
    assert service.call("POST", "/api/runs", wish, token=None, headers=cookie)[0] == 403
    refused(service, "origin")


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("same-site", 403), ("cross-site", 403), ("none", 403)]
)
def test_a_form_without_a_referer_is_heard_where_the_browser_says_that_it_is_ours(service, site, status):
    own = {"Cookie": f"bestchannel-{service.port}={TOKEN}", "Origin": "null", "Sec-Fetch-Site": site}
    assert service.call("PATCH", "/api/runs/lab", {"paused": False}, token=None, headers=own)[0] == status


def test_a_cookie_without_an_origin_changes_nothing(service):
    cookie = {"Cookie": f"bestchannel-{service.port}={TOKEN}"}
    assert service.call("GET", "/api/runs", token=None, headers=cookie)[0] == 200
    assert service.call("PATCH", "/api/runs/lab", {"end": True}, token=None, headers=cookie)[0] == 403
    own = cookie | {"Origin": service.address}
    assert service.call("PATCH", "/api/runs/lab", {"paused": False}, token=None, headers=own)[0] == 200


def test_a_form_of_another_site_is_no_call(service):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        status, _, _ = service.call("POST", "/api/runs", body='{"name": "forged"}', headers={"Content-Type": kind})
        assert status == 415
        refused(service, "content type")


def test_every_answer_has_the_headers_of_safety(service):
    for path in ("/", "/login", "/api/runs", "/healthz", "/nothing", "/runs/lab"):
        headers = service.call("GET", path)[2]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_the_token_of_an_address_goes_into_a_cookie_and_out_of_the_address(service):
    status, _, headers = service.call("GET", f"/runs/lab?token={TOKEN}", token=None)
    assert (status, headers["location"]) == (303, "/runs/lab")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


def test_a_path_with_line_ends_becomes_no_header(service):
    status, _, headers = service.call("GET", f"/runs/x%0d%0aX-Evil:%201?token={TOKEN}", token=None)
    assert status == 303
    assert headers["location"] == "/runs/x%0D%0AX-Evil%3A%201"
    assert "x-evil" not in headers


def test_no_token_is_in_the_logs(service):
    view = service.tokens.made_for("view")
    service.call("GET", f"/api/runs?token={TOKEN}", token=None)
    service.call("GET", f"/runs/lab?token={view}", token=None)
    service.call("POST", "/api/tokens", {"scope": "sense", "channels": ["cable"]})
    service.call(
        "POST",
        "/login",
        body=f"token={TOKEN}",
        token=None,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    text = service.log.read_text()
    assert TOKEN not in text
    assert view not in text
    assert service.tokens.made_for("sense", ["cable"]) not in text


def test_bodies_that_are_too_long_are_refused_before_they_are_read(service):
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.putrequest("POST", "/api/leases")
    for key, value in {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Content-Length": "10000000000",
    }.items():
        connection.putheader(key, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    refused(service, "size")


def test_a_body_without_a_length_is_cut_off_where_it_is_too_long(service):
    def blocks():
        for _ in range(40):
            yield b"x" * 65_536

    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/leases", blocks(), headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it was cut off while it was sent
    refused(service, "size")


WIDE = {"sensor": "s", "channels": ["cable"]}
PIECE = {"channel": "cable", "x": "0", "start": 0, "counts": {"0": 1}}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/api/leases", {**WIDE, "channels": ["c"] * 1001}),
        ("/api/leases", {**WIDE, "channels": []}),
        ("/api/leases", {**WIDE, "sensor": "s" * 201}),
        ("/api/leases", {**WIDE, "most": 0}),
        ("/api/leases", {**WIDE, "wait": 31}),
        ("/api/leases", {**WIDE, "run": "../etc/passwd"}),
        ("/api/leases", {**WIDE, "unknown": 1}),
        ("/api/leases", []),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [PIECE] * 1001}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": []}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [{**PIECE, "counts": {"0": -1}}]}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [{**PIECE, "counts": {"0": 1.5}}]}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [{**PIECE, "counts": {"0": 0}}]}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [{**PIECE, "counts": {"7": 1}}]}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [{**PIECE, "x": "7"}]}),
        ("/api/runs/lab/pieces", {"request": 1, "pieces": [{**PIECE, "start": 2**60}]}),
        ("/api/runs", {"name": "x/../y", "channels": CHANNELS}),
        ("/api/runs", {"name": ".hidden", "channels": CHANNELS}),
        ("/api/runs", {"name": "huge", "channels": {"a": {"inputs": ["0"] * 4097, "outputs": ["0"]}}}),
        ("/api/runs", {"name": "twice", "channels": {"a": {"inputs": ["0", "0"], "outputs": ["0"]}}}),
        ("/api/runs", {"name": "foreign", "channels": CHANNELS, "policy": "os:system"}),
        ("/api/runs", {"name": "lab", "channels": CHANNELS}),
        ("/api/runs", {"name": "delta", "channels": CHANNELS, "delta": 0}),
        ("/api/tokens", {"scope": "own"}),
        ("/api/tokens", {"scope": "view", "channels": ["cable"]}),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused_in_a_sentence(service, path, content):
    status, answer, _ = service.call("POST", path, content)
    assert status == 400
    assert answer["error"]
    refused(service, "input")


def test_an_output_that_is_counted_twice_is_refused_and_not_counted_in_part(service):
    service.create("twice")
    piece = '{"channel": "cable", "x": "0", "start": 0, "counts": {"0": 1, "1": 1, "0": 3}}'
    body = f'{{"request": 1, "pieces": [{piece}]}}'
    kind = {"Content-Type": "application/json"}
    status, answer, _ = service.call("POST", "/api/runs/twice/pieces", body=body, headers=kind)
    assert (status, answer) == (400, {"error": "a name must occur once in an object of the body; '0' occurs twice"})
    assert service.call("GET", "/api/runs/twice")[1]["answered"] == 0


def test_no_path_leads_out_of_the_folder(service):
    for name in ("..%2f..%2fetc%2fpasswd", "%2e%2e", "lab%00", "lab.db", ".paused.json"):
        for path in (f"/api/runs/{name}", f"/api/runs/{name}/file", f"/runs/{name}"):
            assert service.call("GET", path)[0] == 404


def test_guessing_tokens_is_slowed_down_and_harms_nobody_else(service):
    statuses = [service.call("GET", "/api/runs", token=f"guess-number-{i:09}")[0] for i in range(40)]
    assert statuses[-1] == 429
    refused(service, "token rate")
    assert service.call("GET", "/api/runs")[0] == 200


def test_rates_are_limited_and_recover():
    rates = guard.Rates(rate=1000.0, burst=3)
    assert [rates.take("a") for _ in range(3)] == [0.0] * 3
    assert 0.0 < rates.take("a") <= 0.001
    assert rates.take("b") == 0.0
    time.sleep(0.01)
    assert rates.take("a") == 0.0


def test_a_head_that_is_too_long_is_cut_off_before_it_is_kept(service):
    with socket.create_connection(("127.0.0.1", service.port)) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            line.sendall(b"X-A: xxxxxxxxxxxxx\r\n" * 10_000_000)
    assert service.call("GET", "/healthz")[0] == 200


STERN = """
from bestchannel.service import server
server.IDLE_S, server.MOST_FILES = 1.0, 80  # 10 connections without a token, 30 with one
from bestchannel.cli import main
main()
"""


@pytest.fixture(scope="module")
def stern(tmp_path_factory):
    """A service with less patience and fewer connections."""
    with running(tmp_path_factory.mktemp("stern"), program=["-c", STERN]) as service:
        yield service


def test_a_connection_that_says_nothing_or_never_ends_its_head_is_closed(stern):
    silent, slow = (socket.create_connection(("127.0.0.1", stern.port)) for _ in range(2))
    slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
    assert silent.recv(1) == b""
    assert slow.recv(1) == b""
    assert stern.call("GET", "/healthz")[0] == 200


def test_whoever_holds_all_connections_keeps_nobody_out(stern):
    stern.create("lab")
    held = []
    for _ in range(60):
        held.append(socket.create_connection(("127.0.0.1", stern.port)))
        held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert stern.call("GET", "/api/runs/lab")[0] == 200
    for line in held:
        line.close()


def test_other_methods_and_addresses_are_refused(service):
    assert service.call("DELETE", "/api/runs/lab")[0] == 405
    refused(service, "method")
    assert service.call("GET", "/api/nothing")[0] == 404
    refused(service, "path")


def test_health_is_open_and_says_nothing_else(service):
    assert service.call("GET", "/healthz", token=None)[:2] == (200, {"status": "ok"})
