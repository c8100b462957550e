"""A notebook that uses the package, executed and looked at."""

import re

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


def test_a_notebook_runs_and_shows_tables(tmp_path):
    import nbclient
    import nbformat

    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
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
