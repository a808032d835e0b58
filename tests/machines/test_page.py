# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet page in a real browser: no request, every device, no overlapping boxes, no text outside its box.

Needs Chromium (``ACCELERATOR_OPS_CHROMIUM`` names it, else ``/usr/bin/chromium``); without one the tests are skipped.
"""

from __future__ import annotations

import html
import http.server
import json
import os
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.tree import write
from ansible_collections.accelerator.ops.plugins.module_utils.machine.layout import entries
from ansible_collections.accelerator.ops.plugins.module_utils.machine.model import parse
from ansible_collections.accelerator.ops.plugins.module_utils.report.page import render_page
from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import NodeReport, Survey, survey
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.tests.unit.report import fleet

CHROMIUM = Path(os.environ.get("ACCELERATOR_OPS_CHROMIUM", "/usr/bin/chromium"))
MODELS = sorted((Path(__file__).resolve().parents[2] / "playbooks" / "files" / "machines").glob("*.yml"))
_SECONDS = 120  # a browser on a busy machine; it takes about two
COUNTS = {"one": 1, "fifty": 50, "thousand": 1000}  # nodes
_BYTES = 8_000_000
_LOCAL = ("file:", "data:", "about:", "chrome:", "chrome-extension:", "devtools:", "blob:")

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is not there")

_LOOK = """
<script>
const found = {overlaps: [], outside: [], crossed: [], boxes: 0, wide: 0};
const before = (end, start) => end <= start + .5;
const apart = (a, b) => before(a.right, b.left) || before(b.right, a.left) ||
  before(a.bottom, b.top) || before(b.bottom, a.top);
const holds = (a, b) => a.left <= b.left && a.top <= b.top && a.right >= b.right && a.bottom >= b.bottom;
const named = element => (element.parentNode.querySelector('title') || element).textContent;
for (const picture of document.querySelectorAll('svg')) {
  const boxes = [...picture.querySelectorAll('rect.box')].map(box => [box, box.getBoundingClientRect()]);
  found.boxes += boxes.length;
  boxes.forEach(([one, a], index) => boxes.slice(index + 1).forEach(([two, b]) => {
    if (!apart(a, b) && !holds(a, b) && !holds(b, a)) found.overlaps.push([named(one), named(two)]);
  }));
  const frame = picture.getBoundingClientRect();
  for (const text of picture.querySelectorAll('text')) {
    const place = text.getBoundingClientRect();
    const box = text.parentNode.querySelector(':scope > rect.box');
    if (!holds(box ? box.getBoundingClientRect() : frame, place)) found.outside.push(text.textContent);
    if (!box) boxes.forEach(([other, area]) => {
      if (!holds(area, place) && !apart(area, place)) found.crossed.push([text.textContent, named(other)]);
    });
    const solid = boxes.filter(([other]) => !other.parentNode.classList.contains('domain') && other !== box);
    solid.forEach(([other, area]) => {
      if (!apart(area, place)) found.crossed.push([text.textContent, named(other)]);
    });
  }
}
const pictures = [...document.querySelectorAll('svg')].map(picture => picture.textContent);
found.pictures = pictures.length;
found.repeated = pictures.length - new Set(pictures).size;
found.text = document.body.innerText;  // what is seen, and so what is searched: without what is folded away
const last = [...document.querySelectorAll('tbody th')].pop().firstChild.textContent;
found.searched = [last, 'no such node'].map(name => window.find(name));  // as the browser's own search does
found.wide = document.documentElement.scrollWidth - window.innerWidth;
document.body.setAttribute('data-found', JSON.stringify(found));
</script>
"""


def _browse(page: Path, folder: Path, *options: str) -> str:
    """What the browser prints about a page."""
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
        *("--disable-default-apps", "--disable-domain-reliability", "--metrics-recording-only"),
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=1560,1200",
        *options,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _requests(log: Path) -> list[str]:
    """Addresses that a page asked for, by the browser's own log of the network.

    The browser asks for a few on its own account (the time, updates), whatever it shows: those have no origin. A page
    that lies in a file has the origin ``null`` or ``file://``.
    """
    content = json.loads(log.read_text(encoding="utf-8"))
    kinds = content["constants"]["logEventTypes"]
    addresses = []
    for event in content["events"]:
        params: dict[str, Any] = event.get("params", {})
        if event["type"] == kinds["URL_REQUEST_START_JOB"] and params.get("initiator") != "not an origin":
            addresses += [str(params["url"])] if "url" in params else []
        elif event["type"] == kinds["HOST_RESOLVER_MANAGER_REQUEST"] and "file:" in str(params):
            addresses.append(str(params.get("host")))
    return [address for address in addresses if not address.startswith(_LOCAL)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[NodeReport]:
    """Each machine model of the collection, laid out and observed."""
    nodes, folder = [], tmp_path_factory.mktemp("trees")
    for model in MODELS:
        root = folder / model.stem
        write(str(root), entries(parse(yaml.safe_load(model.read_text(encoding="utf-8")))))
        nodes.append(fleet.seen(model.stem, json.loads(json.dumps(observe(Host(str(root)))))))
    return nodes


@pytest.fixture(scope="module")
def surveys() -> dict[str, tuple[list[NodeReport], Survey]]:
    """What was made for one language serves the other."""
    return {}


def _reports(name: str, models: list[NodeReport]) -> list[NodeReport]:
    if name in COUNTS:
        return fleet.fleet_of(COUNTS[name])
    if name == "models":
        assert models, "the collection ships no machine model"
        return models
    if name == "many":
        return [fleet.seen("many", fleet.many_functions_node())]
    return {"small": fleet.small_fleet, "large": fleet.large_fleet}[name]()


@pytest.mark.parametrize("name", ["small", "large", "many", "models", *COUNTS])
@pytest.mark.parametrize("language", ["en", "de"])
def test_page_in_a_browser(
    name: str,
    language: str,
    models: list[NodeReport],
    surveys: dict[str, tuple[list[NodeReport], Survey]],
    tmp_path: Path,
) -> None:
    if name not in surveys:
        nodes = _reports(name, models)
        surveys[name] = (nodes, survey(nodes, ""))
    nodes, seen = surveys[name]
    text = render_page(seen, "2026-12-01 08:00 UTC", language)
    log = tmp_path / "net.json"
    found = _look(text, tmp_path, f"--log-net-log={log}")
    # the copy that is measured lacks the policy that forbids requests: what the page asks for would be asked for
    assert _requests(log) == []
    devices = {device["id"] for node in nodes for device in (node.facts or {}).get("devices") or ()}
    content = html.unescape(text)
    assert [device for device in devices if device not in content] == []
    assert [node.name for node in nodes if node.name not in found["text"]] == []
    assert found["searched"] == [True, False]
    assert found["pictures"] == len(seen.document["topologies"])
    assert found["repeated"] == 0
    assert found["overlaps"] == []
    assert found["outside"] == []
    assert found["crossed"] == []
    assert found["wide"] <= 0
    assert found["boxes"] >= {"small": 28, "large": 16, "many": 32, "models": 8, "one": 8}.get(name, 24)
    assert len(text.encode("utf-8")) < _BYTES


def _look(text: str, folder: Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = _measured(text, _LOOK, folder, *options)
    return found


def _measured(text: str, script: str, folder: Path, *options: str) -> Any:
    """Measure a copy of the page that may run a script: the page itself forbids it."""
    copy = folder / "look.html"
    opened = re.sub(r"<meta http-equiv=.*\n", "", text)
    copy.write_text(opened.replace("</body>", script + "</body>"), encoding="utf-8")
    result = re.search(r'data-found="([^"]*)"', _browse(copy, folder, *options, "--dump-dom"))
    assert result is not None
    return json.loads(html.unescape(result[1]))


def test_measure_finds_what_is_wrong(tmp_path: Path) -> None:
    text = render_page(survey([fleet.seen("n", fleet.nvswitch_node())], ""), "now", "en")
    place = re.search(r'(?<=<rect class="box" x=)("[^"]*" y=")([^"]*)(?=" width="232")', text)
    assert place is not None
    moved = f"{text[: place.start()]}{place[1]}{float(place[2]) + 30}{text[place.end() :]}"
    found = _look(moved, tmp_path)
    assert found["overlaps"]
    assert found["outside"]
    assert _look(text.replace("Gen5 ×16", "Gen5 ×16 and much more text"), tmp_path)["crossed"]


def test_request_is_found_and_the_page_forbids_it(tmp_path: Path) -> None:
    asked: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_request(self, code: object = "-", size: object = "-") -> None:
            """Say nothing."""

        log_error = log_request

    server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        image = f'<img src="http://127.0.0.1:{server.server_port}/picture">'
        text = render_page(survey([], ""), "now", "en").replace("</main>", image + "</main>")
        page, log = tmp_path / "open.html", tmp_path / "open.json"
        page.write_text(re.sub(r"<meta http-equiv=.*\n", "", text), encoding="utf-8")
        _browse(page, tmp_path, f"--log-net-log={log}", "--dump-dom")
        assert asked == ["/picture"]
        assert any("/picture" in address for address in _requests(log))
        page.write_text(text, encoding="utf-8")
        _browse(page, tmp_path, f"--log-net-log={log}", "--dump-dom")
        assert asked == ["/picture"]
        assert _requests(log) == []
    finally:
        server.shutdown()
        server.server_close()
