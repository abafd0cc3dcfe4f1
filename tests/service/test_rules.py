"""Each rule of the service, with a client that breaks it: refused, and logged."""

import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import time

import pytest

from bestchannel.errors import InputError
from bestchannel.service import access
from bestchannel.service.application import Endpoints, description
from bestchannel.service.messages import RefusedError
from bestchannel.service.server import Place
from tests.journeys.command import bestchannel
from tests.service.instruments import CHANNELS
from tests.service.running import TOKEN, running, wait_until


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("rules")) as service:
        service.create("lab")
        yield service


def watched(service, path, token):
    """A stream of events; one that says nothing for a minute fails."""
    watching = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    watching.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    stream = watching.getresponse()
    assert stream.status == 200
    return stream


def read_to_its_end(stream):
    with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError):
        while stream.readline():
            pass


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


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "http://[", ""]
)
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
    assert "samesite=strict" in cookie.lower()


def test_a_path_with_line_ends_becomes_no_header(service):
    status, _, headers = service.call("GET", f"/runs/x%0d%0aX-Evil:%201?token={TOKEN}", token=None)
    assert status == 303
    assert headers["location"] == "/runs/x%0D%0AX-Evil%3A%201"
    assert "x-evil" not in headers


def test_headers_of_a_proxy_that_is_not_trusted_are_not_believed(service):
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7", "Forwarded": "for=192.0.2.7;proto=https"}
    made = service.call("POST", "/api/tokens", {"scope": "view"}, headers=forged)[1]
    assert made["url"].startswith(f"http://127.0.0.1:{service.port}/?token=")
    status, _, headers = service.call("GET", f"/?token={TOKEN}", token=None, headers=forged)
    assert status == 303
    assert "Secure" not in headers["set-cookie"]
    service.call("GET", "/api/nothing", headers=forged)
    assert refused(service, "path")["peer"] == "127.0.0.1"


def test_trusted_proxy_says_who_calls_and_by_which_scheme(tmp_path):
    with running(tmp_path, "--trust-proxy", "127.0.0.1", "--allow-host", "lab.example") as service:
        said = {"Host": "lab.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "10.9.9.9, 192.0.2.7"}
        made = service.call("POST", "/api/tokens", {"scope": "view"}, headers=said)[1]
        assert made["url"] == f"https://lab.example/?token={made['token']}"
        for path in (f"/?token={TOKEN}", f"/runs/lab?token={TOKEN}"):
            assert "; Secure" in service.call("GET", path, token=None, headers=said)[2]["set-cookie"]
        service.call("GET", "/api/nothing", headers=said)
        assert refused(service, "path")["peer"] == "192.0.2.7"


def test_under_tls_addresses_and_cookies_are_of_tls(tmp_path):
    files = [str(tmp_path / name) for name in ("key.pem", "certificate.pem")]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        files[0],
    ]
    subprocess.run([*command, "-out", files[1]], check=True, capture_output=True)
    with running(tmp_path, "--certificate", files[1], "--key", files[0]) as service:
        context = ssl.create_default_context(cafile=files[1])
        context.check_hostname = False
        line = http.client.HTTPSConnection("127.0.0.1", service.port, context=context)
        kind = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
        line.request("POST", "/api/tokens", '{"scope": "view"}', kind | {"X-Forwarded-Proto": "http"})
        assert json.load(line.getresponse())["url"].startswith(f"https://127.0.0.1:{service.port}/?token=")
        line.request("GET", f"/?token={TOKEN}")
        assert "; Secure" in line.getresponse().headers["set-cookie"]


@pytest.mark.parametrize("proxy", ["*", "lab.example", "", "10.0.0.1/8"])
def test_proxy_to_trust_must_be_an_address_or_a_network(proxy):
    with pytest.raises(InputError, match="a proxy to trust must be an address or a network"):
        Place(trusted_proxies=(proxy,))


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_leases_must_last_some_time_and_not_for_ever(seconds, tmp_path):
    run = bestchannel("serve", str(tmp_path / "runs"), "--port", "0", f"--lease={seconds}")
    assert run.returncode == 1
    assert "a lease must last more than 0" in run.stderr


def test_revoked_token_opens_nothing_and_ends_what_it_held(service):
    made = service.call("POST", "/api/tokens", {"scope": "view"})[1]
    stream = watched(service, "/runs/lab/events", made["token"])
    assert service.call("DELETE", f"/api/tokens/{made['id']}", token=made["token"])[0] == 403
    assert service.call("DELETE", f"/api/tokens/{made['id']}")[:2] == (200, {"id": made["id"]})
    read_to_its_end(stream)
    status, answer, _ = service.call("GET", "/api/runs", token=made["token"])
    assert (status, answer) == (401, {"error": "the token was revoked; ask the owner for another"})
    assert service.call("DELETE", "/api/tokens/nobody")[0] == 404


def test_lease_of_a_revoked_token_is_free_at_once(service):
    service.create("taken")
    made = service.call("POST", "/api/tokens", {"scope": "sense", "channels": ["cable"]})[1]
    wish = {"sensor": "s", "channels": ["cable"], "run": "taken"}
    lent = service.call("POST", "/api/leases", wish, token=made["token"])[1]["parts"]
    service.call("DELETE", f"/api/tokens/{made['id']}")
    assert service.call("POST", "/api/leases", {**wish, "wait": 30})[1]["parts"] == lent


def test_stream_ends_with_its_token(service):
    token = service.tokens.made_for("view", days=2 / 86_400)
    stream = watched(service, "/runs/lab/events?report=no", token)
    read_to_its_end(stream)
    assert service.call("GET", "/api/runs", token=token)[1] == {
        "error": "the token has expired; ask the owner for another"
    }


def test_no_answer_says_where_the_runs_are(service):
    place = str(service.folder)
    (service.folder / "runs" / "broken.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    for what in ("", "/file", "/result", "/report"):
        assert place not in json.dumps(str(service.call("GET", f"/api/runs/broken{what}")[1]))
    assert place not in str(service.call("PATCH", "/api/runs/broken", {"end": True})[1])
    stream, lines = watched(service, "/runs/broken/events", TOKEN), []
    while not [line for line in lines if b"event: trouble" in line] or lines[-1] == b"event: trouble\n":
        lines.append(stream.readline())
    assert place.encode() not in b"".join(lines)
    stream.close()


def test_runs_are_for_the_user_of_the_service_alone(service):
    service.create("private")
    lent = service.call("POST", "/api/leases", {"sensor": "s", "channels": ["cable"], "run": "private"})[1]
    part = lent["parts"][0]
    piece = {"channel": "cable", "x": part["x"], "start": part["start"], "counts": {"0": 1}}
    assert service.call("POST", "/api/runs/private/pieces", {"request": 1, "pieces": [piece]})[0] == 200
    service.call("PATCH", "/api/runs/private", {"paused": True})
    files = [*(service.folder / "runs").glob("private.db*"), service.folder / "runs" / ".paused.json"]
    assert len(files) == 4  # with SQLite's log and its index
    assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o600"] * 4
    assert oct((service.folder / "runs").stat().st_mode & 0o777) == "0o700"


def test_the_description_is_made_once():
    made = []
    for _ in range(3):
        with pytest.raises(StopIteration) as reply:
            Endpoints.openapi(None, None).send(None)
        made.append(reply.value.value.body)
    assert made[0] == made[1] == made[2]
    assert description() is description()


def test_no_token_is_in_the_logs(service):
    view = service.tokens.made_for("view")
    service.call("GET", f"/api/runs?token={TOKEN}", token=None)
    service.call("GET", f"/runs/lab?token={view}", token=None)
    made = service.call("POST", "/api/tokens", {"scope": "sense", "channels": ["cable"]})[1]["token"]
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
    assert made not in text


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
        ("/api/leases", {**WIDE, "sensor": "s\n"}),
        ("/api/leases", {**WIDE, "sensor": "\x1b[2Jgone"}),
        ("/api/leases", {**WIDE, "sensor": "a\u202eb"}),
        ("/api/leases", {**WIDE, "sensor": "a\u2028b"}),
        ("/api/leases", {**WIDE, "sensor": "a\x85b"}),
        ("/api/leases", {**WIDE, "channels": ["cable\x07"]}),
        ("/api/leases", {**WIDE, "run": "lab\n"}),
        ("/api/runs", {"name": "bell", "channels": {"a\x07": CHANNELS["cable"]}}),
        ("/api/runs", {"name": "bell", "channels": {"a": {"inputs": ["0\x9b"], "outputs": ["0"]}}}),
        ("/api/tokens", {"scope": "sense", "channels": ["a\tb"]}),
        ("/api/tokens", {"scope": "view", "days": 0}),
        ("/api/tokens", {"scope": "sense", "channels": ["c" * 190 + str(i) for i in range(100)]}),
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
    rates = access.Rates("rate", rate=1000.0, burst=3)
    for _ in range(3):
        rates.take("a")
    with pytest.raises(RefusedError) as refusal:
        rates.take("a")
    assert (refusal.value.status, refusal.value.rule, refusal.value.headers) == (429, "rate", {"retry-after": "1"})
    rates.take("b")
    time.sleep(0.01)
    rates.take("a")


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


def test_calls_that_do_not_wait_for_the_answer_before_end_the_connection(service):
    with socket.create_connection(("127.0.0.1", service.port)) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
        answered = b""
        with contextlib.suppress(ConnectionResetError):
            while block := line.recv(65_536):
                answered += block
    assert answered.count(b"HTTP/1.1") < 3
    assert service.call("GET", "/healthz")[0] == 200


def test_other_methods_and_addresses_are_refused(service):
    assert service.call("DELETE", "/api/runs/lab")[0] == 405
    refused(service, "method")
    assert service.call("GET", "/api/nothing")[0] == 404
    refused(service, "path")


def test_refused_method_is_told_which_ones_there_are(service):
    for path, methods in {"/api/runs": "GET, HEAD, POST", "/api/runs/lab": "GET, HEAD, PATCH"}.items():
        status, answer, headers = service.call("DELETE", path)
        assert (status, answer) == (405, {"error": "another method is required here"})
        assert headers["allow"] == methods


def test_address_with_another_slash_is_not_redirected(service):
    for path in ("/healthz/", "/api/runs/", "//healthz", "/runs//events"):
        status, answer, headers = service.call("GET", path)
        assert (status, "location" in headers) == (404, False)
        assert answer["error"].startswith("there is nothing at this address")


def test_head_of_an_answer_comes_without_its_body(service):
    lengths = [service.call(method, "/login")[2]["content-length"] for method in ("GET", "HEAD")]
    assert lengths[0] == lengths[1]
    assert service.call("HEAD", "/login")[:2] == (200, b"")


def test_stream_ends_when_its_watcher_leaves(service):
    def watchers():
        return float(re.search(r"^bestchannel_watchers (.*)$", service.call("GET", "/metrics")[1].decode(), re.M)[1])

    before = watchers()
    stream = watched(service, "/events", TOKEN)
    wait_until(lambda: watchers() == before + 1)
    stream.close()
    wait_until(lambda: watchers() == before)


def test_health_is_open_and_says_nothing_else(service):
    assert service.call("GET", "/healthz", token=None)[:2] == (200, {"status": "ok"})


COUNTING = """
import gc, json, sys
from bestchannel.service import server
gc.disable()
end_waiting = server.Leases.stop_waiting
def count(self):
    print(json.dumps({"event": "garbage", "objects": gc.collect()}), file=sys.stderr)
    end_waiting(self)
server.Leases.stop_waiting = count
from bestchannel.cli import main
main()
"""


def test_calls_leave_nothing_behind_that_only_a_search_frees(tmp_path):
    calls = [("GET", "/healthz", TOKEN), ("GET", "/nothing", TOKEN), ("GET", "/api/runs", None)]
    with running(tmp_path, program=["-c", COUNTING]) as service:
        for method, path, token in calls * 100:
            service.call(method, path, token=token)
        service.end()
        [left] = [line["objects"] for line in service.logged() if line["event"] == "garbage"]
    assert left < 300  # one object a call: a search through what thousands of them leave keeps all others waiting
