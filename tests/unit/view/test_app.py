"""The viewer's application: who is let in, and what is shown of a store as it stands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from fakes import stored
from fakes.asgi import Asking
from fakes.pages import PACKED, Tags, unpacked
from golden.specimens import NASTY
from oloproof.errors import BrokenError
from oloproof.model.case import Attempt, Case
from oloproof.model.judgment import PASS, Judgment
from oloproof.model.measured import Measured
from oloproof.store import Store, stored_case

pytest.importorskip("starlette", reason="the extra oloproof[view] is not installed")

from oloproof.view.app import Door, Shelf, viewer
from oloproof.view.pages import wrong

TOKEN = "the-token"
DONE = "20261130T101502-done"
WAS = "20261130T101501-was"
GOING_ON = "20261130T101503-live"
PRINTABLE = [text for text in NASTY if text.isprintable() and len(text) < 5000]
ASKED = "<b>&\u202e \x00'\"/../#?%2F"


def keep(store: Store, run_id: str, *, verdicts: tuple[Judgment, ...] = stored.VERDICTS, finished: bool = True) -> None:
    run = replace(stored.run(run_id), cases=3)
    store.begin(run)
    rows = [stored.row(number, judgments=verdicts) for number in range(2)]
    odd = stored_case(2, Case(id=ASKED, input="hunter2"), Attempt(case_id=ASKED), stored.VERDICTS)
    store.append(run_id, [*rows, odd])
    if finished:
        done = replace(run, status="complete", finished_at="2026-11-30T10:16:02Z")
        store.finish(done, Measured(cases=3, metrics=stored.measured(3).metrics[:1]), None)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that are complete, of which the second broke two cases, and one that goes on. It is for reading."""
    found = tmp_path_factory.mktemp("stored") / ".oloproof"
    with Store.open(found) as store:
        keep(store, WAS, verdicts=(PASS, PASS, PASS))
        keep(store, DONE)
        keep(store, GOING_ON, finished=False)
    return found


def client(directory: Path, *, content: bool = True, ticket: str | None = None, let_in: bool = True) -> Asking:
    door = Door(TOKEN, ticket=ticket, port=8000)
    app = viewer(Shelf(directory=directory, content=content), door, Event())
    return Asking(app, "http://127.0.0.1:8000", **({door.cookie: TOKEN} if let_in else {}))


@pytest.fixture
def inside(directory: Path) -> Asking:
    return client(directory)


# --- the door --------------------------------------------------------------------------------------------------------

ADDRESSES = ("/", f"/runs/{DONE}", f"/runs/{DONE}/index", f"/runs/{GOING_ON}/events", "/compare", "/nowhere")


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("cookie", [None, "", "another", "the-toke", "the-token2"])
def test_nothing_is_shown_without_the_token(address: str, cookie: str | None, directory: Path) -> None:
    outside = client(directory, let_in=False)
    if cookie is not None:
        outside.cookies.set("oloproof_view_8000", cookie)
    answer = outside.get(address)
    assert (answer.status_code, answer.text) == (403, "Open the address that `oloproof view` printed.\n")


def test_the_token_is_shown_once_and_then_a_cookie_does(directory: Path) -> None:
    outside = client(directory, let_in=False)
    assert outside.get("/?token=another").status_code == 403
    opening = outside.get(f"/?token={TOKEN}&run={DONE}")
    assert opening.status_code == 200
    assert f'content="0; url=/runs/{DONE}"' in opening.text
    flags = {part.strip().lower() for part in opening.headers["set-cookie"].split(";")[1:]}
    assert flags == {"httponly", "path=/", "samesite=strict"}
    assert outside.get("/").status_code == 200
    assert TOKEN not in outside.get("/").text


def test_a_ticket_opens_once(directory: Path) -> None:
    outside = client(directory, ticket="once", let_in=False)
    assert outside.get("/?token=once").status_code == 200
    outside.cookies.clear()
    assert outside.get("/?token=once").status_code == 403


@pytest.mark.parametrize("run", ["//evil.example", "https://evil.example/", "\\\\evil", '"><script>', "a\r\nb"])
def test_the_token_leads_nowhere_else(run: str, directory: Path) -> None:
    opening = client(directory, let_in=False).get("/", params={"token": TOKEN, "run": run})
    (link,) = [attributes["href"] for tag, attributes in Tags(opening.text).tags if tag == "a"]
    assert link is not None
    assert link.startswith("/runs/")
    assert not set(link.removeprefix("/runs/")) & set('/\\"<>\r\n ')


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "127.0.0.2", "", "[::2]:8000"]
)
def test_a_name_that_was_made_to_mean_this_machine_is_refused(host: str, inside: Asking) -> None:
    assert inside.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9999", "127.0.0.1", "[::1]:1"])
def test_the_names_of_this_machine_are_known_on_any_port(host: str, inside: Asking) -> None:
    cookie = {"cookie": f"oloproof_view_8000={TOKEN}"}
    assert inside.get("/", headers={"host": host} | cookie).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_it_is_for_reading(method: str, inside: Asking) -> None:
    assert inside.request(method, "/").status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_site_fetches_is_refused_also_with_the_cookie(site: str, inside: Asking) -> None:
    assert inside.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
    assert inside.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"}).status_code == 200
    assert inside.get("/", headers={"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}).status_code == 200


@pytest.mark.parametrize("address", ["/", "/nowhere", f"/runs/{DONE}/index", "/runs/x/case"])
def test_every_answer_says_what_a_browser_may_do_with_it(address: str, directory: Path) -> None:
    for let_in in (True, False):
        headers = client(directory, let_in=let_in).get(address).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_the_list_leads_to_every_run(inside: Asking) -> None:
    page = Tags(inside.get("/").text)
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a"]
    assert [link for link in links if link and link.startswith("/runs/")] == [
        f"/runs/{r}" for r in (GOING_ON, DONE, WAS)
    ]
    compared = [attributes["value"] for tag, attributes in page.tags if tag == "input"]
    assert compared == [DONE, DONE, WAS, WAS]


def test_what_cannot_be_compared_is_not_offered(directory: Path, tmp_path: Path) -> None:
    with Store.open(shutil.copytree(directory, tmp_path / "copy")) as store:
        done = store.find(DONE)
        store.finish(replace(done, partial="--limit 2"), store.aggregates(DONE), None)
    page = Tags(client(tmp_path / "copy").get("/").text)
    assert [attributes["value"] for tag, attributes in page.tags if tag == "input"] == [WAS, WAS]


def test_a_long_list_is_cut_and_says_so(inside: Asking) -> None:
    page = inside.get("/?limit=1").text
    assert GOING_ON in page
    assert WAS not in page
    assert 'href="/?limit=4"' in page
    assert "older" not in inside.get("/?limit=3").text
    for limit in ("0", "-1", "x", "9" * 40, "٣"):
        assert inside.get("/", params={"limit": limit}).status_code == 400


def test_a_run_is_shown_as_its_report_is(inside: Asking) -> None:
    page = inside.get(f"/runs/{DONE}").text
    assert "NOT GATED" in Tags(page).text
    assert f'data-source="/runs/{DONE}"' in page
    assert not PACKED.findall(page)
    parts = unpacked(f'<script type="text/plain" id="index">{inside.get(f"/runs/{DONE}/index").text}</script>')
    assert [row[:3] for row in parts["index"]["rows"][:2]] == [["case_00000", 1, "pfx"], ["case_00001", 1, "pfx"]]
    assert {row[4] for row in parts["index"]["rows"]} == {-3}


def test_a_case_is_found_by_its_id_whatever_that_is(inside: Asking) -> None:
    parts = unpacked(f'<script type="text/plain" id="index">{inside.get(f"/runs/{DONE}/index").text}</script>')
    assert [row[5] for row in parts["index"]["rows"]] == [0, 0, ASKED]
    shown = inside.get(f"/runs/{DONE}/case", params={"id": ASKED, "trial": 1}).json()
    assert "\u202e" not in json.dumps(shown, ensure_ascii=False)
    assert any(fact == {"label": "input", "text": '"hunter2"'} for fact in shown["view"]["facts"])


def test_a_name_that_means_a_run_leads_to_it(inside: Asking) -> None:
    for name in ("latest", GOING_ON[-4:]):
        answer = inside.get(f"/runs/{name}")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{GOING_ON}")


def test_without_content_nothing_that_was_said_is_sent(directory: Path) -> None:
    discreet = client(directory, content=False)
    index = discreet.get(f"/runs/{DONE}/index").text
    texts = [
        discreet.get(f"/runs/{DONE}").text,
        str(unpacked(f'<script type="text/plain" id="index">{index}</script>')),
        discreet.get(f"/runs/{DONE}/case", params={"id": ASKED}).text,
    ]
    assert not any("hunter2" in text for text in texts)


def test_two_runs_are_compared_with_their_calls(inside: Asking) -> None:
    page = inside.get("/compare", params={"candidate": DONE, "baseline": WAS}).text
    rows = unpacked(page)["index"]["rows"]
    assert [row[0] for row in rows] == ["case_00000", "case_00001"]
    assert "2 broken" in Tags(page).text


@pytest.mark.parametrize(
    ("candidate", "baseline", "told"),
    [
        (DONE, DONE, "would be compared with itself"),
        (GOING_ON, WAS, f"run {GOING_ON} is running"),
        (DONE, "nothing", "no run is called 'nothing'"),
        ("<script>alert(1)</script>", WAS, "no run is called '<script>alert(1)</script>'"),
    ],
)
def test_what_cannot_be_compared_is_said(candidate: str, baseline: str, told: str, inside: Asking) -> None:
    answer = inside.get("/compare", params={"candidate": candidate, "baseline": baseline})
    assert answer.status_code in (400, 404, 500)
    assert told in Tags(answer.text).text


def test_a_comparison_needs_two(inside: Asking) -> None:
    assert "two runs are compared" in inside.get(f"/compare?candidate={DONE}").text


@pytest.mark.parametrize(
    "name", [*(text for text in NASTY if text.isprintable() and len(text) < 5000), "..", "%00", "a%2Fb", "x" * 5000]
)
def test_a_run_that_is_not_there_is_a_page_in_which_its_name_does_nothing(name: str, inside: Asking) -> None:
    plain = [tag for tag, _ in Tags(inside.get("/runs/nothing").text).tags]
    for address in (f"/runs/{name}", f"/runs/{name}/"):
        answer = inside.get(address.replace("#", "%23").replace("?", "%3F"))
        if answer.status_code not in (200, 303, 307):
            assert answer.status_code == 404
            assert {tag for tag, _ in Tags(answer.text).tags} <= set(plain)


@pytest.mark.parametrize("name", [text for text in NASTY if "\ud800" not in text and len(text) < 5000])
def test_a_case_that_is_not_there_is_a_text(name: str, inside: Asking) -> None:
    answer = inside.get(f"/runs/{DONE}/case", params={"id": name})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/plain")
    assert "OLO613" in answer.text
    assert all(line.isprintable() for line in answer.text.splitlines())


def test_a_trial_is_a_number(inside: Asking) -> None:
    assert inside.get(f"/runs/{DONE}/case", params={"id": "case_00000", "trial": "x"}).status_code == 400
    assert "no trial 2" in inside.get(f"/runs/{DONE}/case", params={"id": "case_00000", "trial": 2}).text


def test_a_store_that_is_gone_or_damaged_meanwhile_is_told(directory: Path, tmp_path: Path) -> None:
    directory = shutil.copytree(directory, tmp_path / "copy")
    inside = client(directory)
    (directory / "oloproof.db").write_bytes(b"garbage" * 1000)
    for address in ("/", f"/runs/{DONE}", "/compare?candidate=a&baseline=b", f"/runs/{DONE}/index"):
        answer = inside.get(address)
        assert (answer.status_code, "OLO501" in answer.text) == (500, True)
    shutil.rmtree(directory)
    for address in ("/", f"/runs/{DONE}", f"/runs/{DONE}/case?id=x"):
        answer = inside.get(address)
        assert (answer.status_code, "OLO610" in answer.text) == (404, True)
    assert not directory.exists()


@pytest.mark.parametrize(("code", "status"), [("OLO505", 503), ("OLO508", 500)])
def test_a_store_that_is_busy_can_be_asked_again(code: str, status: int) -> None:
    assert wrong(BrokenError("kept locked", code=code)).status == status


def test_an_error_of_ours_is_told_and_printed(
    inside: Asking, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("\x1b]0;title\x07 hunter2")

    monkeypatch.setattr("oloproof.view.pages.runs_page", fail)
    answer = inside.get("/")
    assert (answer.status_code, "hunter2" in answer.text, "OLO722" in answer.text) == (500, False, True)
    printed = capsys.readouterr().err
    assert "RuntimeError" in printed
    assert "\x1b" not in printed


# --- a run that goes on ----------------------------------------------------------------------------------------------


def test_a_run_that_goes_on_has_counts_and_no_verdict(inside: Asking) -> None:
    page = inside.get(f"/runs/{GOING_ON}").text
    text = " ".join(Tags(page).text.split())
    assert "RUNNING" in text
    assert "3 of 3 cases" in text
    assert f"oloproof run --resume {GOING_ON}" in text
    assert "data-follow" in page
    assert "answer_correct3000" in text


def test_a_run_that_broke_says_how_far_it_came_and_is_not_followed(directory: Path, tmp_path: Path) -> None:
    with Store.open(shutil.copytree(directory, tmp_path / "copy")) as store:
        store.set_status(GOING_ON, "broken")
    page = client(tmp_path / "copy").get(f"/runs/{GOING_ON}").text
    assert "BROKEN" in Tags(page).text
    assert "data-follow" not in page.replace("dataset", "")


def events(text: str) -> list[tuple[str, Any]]:
    found = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.strip().split("\n\n")]
    return [(each["event"], json.loads(each["data"])) for each in found]


def test_whoever_follows_a_run_that_has_ended_is_told(inside: Asking) -> None:
    answer = inside.get(f"/runs/{DONE}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert events(answer.text) == [("ended", "")]


def test_whoever_follows_a_run_that_is_not_there_is_told(inside: Asking) -> None:
    ((kind, told),) = events(inside.get("/runs/nothing/events").text)
    assert kind == "problem"
    assert "OLO611" in told
