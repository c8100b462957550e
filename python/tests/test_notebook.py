"""A notebook that uses the package, executed and opened in a real browser."""

import html
import json
import re
import shutil
import subprocess

import pytest

# Where `.ci/chromium` looks too.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Writes into the title of the page how each of our cells differs from what is behind it (WCAG's contrast), and what does not fit.
LOOK = """<script>
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = ([red, green, blue]) => {
  const [r, g, b] = [red, green, blue].map((one) => (one /= 255) <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const found = channels(getComputedStyle(at).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found;
  }
  return [255, 255, 255];
};
const cells = [...document.querySelectorAll(".modelmeter td, .modelmeter th, .modelmeter h3, .modelmeter p")];
const contrasts = cells.map((cell) => {
  const [one, other] = [channels(getComputedStyle(cell).color), behind(cell)].map(light).sort((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
});
const words = [...document.querySelectorAll(".modelmeter td:first-child:not(.right)")];
const page = channels(getComputedStyle(document.body).backgroundColor);
const seen = { cells: cells.length, contrast: Math.min(...contrasts), page: light(page),
  left: words.every((cell) => getComputedStyle(cell).textAlign === "left"),
  scripts: document.querySelectorAll(".modelmeter script").length,
  wide: document.documentElement.scrollWidth > innerWidth };
document.title = JSON.stringify(seen);
</script>"""

CELLS = (
    """import modelmeter
model = modelmeter.TransformerEncoder(100, 16, 2, 1, 32, max_seq_length=64, name="tiny")
run = modelmeter.profile(model, engine="rten", runs=12, warmup=1, sequence_length=16)
run""",
    """with modelmeter.measure("step") as m:
    for number in m.steps(range(15)):
        with m.phase("work"):
            sum(range(10_000))
m""",
    "modelmeter.Runs(model='tiny')",
    "run['latency']['median'] > 0",
    "print('inside', modelmeter.profile(model, engine='rten', duration='2s', warmup=1, sequence_length=16).is_valid in (True, False))",
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The cells above with what they show."""
    import nbclient
    import nbformat

    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = tmp_path_factory.mktemp("notebook")
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def test_a_notebook_runs_and_shows_tables(notebook):
    run, measured, runs, truth, printed = [cell.outputs for cell in notebook.cells]
    for outputs in (run, measured, runs):
        shown = outputs[-1]["data"]["text/html"]
        assert "<table>" in shown and "<script" not in shown
        # The notebook's own colours: nothing is black or white by itself.
        assert not re.search(r"#[0-9a-f]{3,6}\b|:(black|white)\b", shown.split("</style>")[0])
    assert truth[-1]["data"]["text/plain"] == "True"
    texts = [output.get("data", {}).get("text/plain", "") for output in printed]
    # Progress lies under the cell while it runs, and is empty afterwards.
    assert any(output["output_type"] == "display_data" for output in printed), printed
    assert not any("modelmeter profile" in text for text in texts)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_notebook_is_read_in_a_browser(notebook, theme, tmp_path):
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(template_name="lab", theme=theme)
    # What is looked at is our part; the notebook's own would ask other sites for scripts.
    exporter.require_js_url = exporter.mathjax_url = exporter.mermaid_js_url = exporter.jquery_url = ""
    page, _ = exporter.from_notebook_node(notebook)
    path = tmp_path / "notebook.html"
    path.write_text(page.replace("</body>", LOOK + "</body>"))
    browser = next(filter(shutil.which, BROWSERS))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,2000"]
    done = subprocess.run(
        [browser, *options, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    title = re.search("<title>(.*?)</title>", done.stdout)
    assert title and title[1].startswith("{"), done.stderr
    seen = json.loads(html.unescape(title[1]))
    assert (seen["page"] < 0.1) == (theme == "dark"), seen
    assert seen["cells"] > 20 and seen["scripts"] == 0 and seen["left"] and not seen["wide"], seen
    # What WCAG asks of text.
    assert seen["contrast"] >= 4.5, seen
