"""The notebooks' tools: same bytes, same ids, one address."""

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import chapter_files
import convert
import nbformat
import pdf
import pytest
import repository
from chapter_files import ROOT

import notebooks

TEXT = """\
# %% [markdown]
# # Two words
#
# Some text.

# %% mystnb={"image": {"alt": "A line that rises"}}
print(1)

# %% tags=["raises-exception"]
1 / 0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the files that name the address, with one small chapter."""
    for name in repository.FILES:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "page.md").write_text("no address\n", encoding="utf-8")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1", id="sum")])
    chapter_files.put_boot(nb, repository.boot_source(tmp_path))
    nb.metadata["attention_lab"] = {"sources": chapter_files.digest(nb)}
    chapter_files.write(tmp_path / "notebooks" / "01-a.ipynb", chapter_files.normalised(nb))
    return tmp_path


def test_the_address_is_the_same_everywhere() -> None:
    url, branch = repository.address()
    for name in repository.FILES:
        assert url in (ROOT / name).read_text(encoding="utf-8"), f"{name} lacks {url}"
    assert f'"git+{url}@{branch}"' in repository.boot_source()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git checkout")
def test_git_has_each_chapter_that_a_launch_link_names() -> None:
    command = ["git", "-C", str(ROOT), "ls-files", "notebooks"]
    tracked = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    missing = {f"notebooks/{path.name}" for path in chapter_files.chapters()} - {*tracked.split()}
    assert not missing, f"git does not have {sorted(missing)}: git add"


def test_setting_the_address_changes_each_place_once_and_makes_nothing_stale(project: Path) -> None:
    old, _ = repository.address(project)
    readme = project / "README.md"
    more = f"{old}-other {old}.git {repository.COLAB}{old.split('/', 3)[3]}/blob/main/x.ipynb\n"
    readme.write_text(readme.read_text(encoding="utf-8") + more, encoding="utf-8")
    new = "https://github.com/some-one/another"
    changed = repository.set_address(new + ".git/", project)
    assert {p.name for p in changed} == {*repository.FILES, "01-a.ipynb"}
    assert repository.address(project) == (new, "main")
    last = readme.read_text(encoding="utf-8").splitlines()[-1]
    assert last == f"{old}-other {new}.git {repository.COLAB}some-one/another/blob/main/x.ipynb"
    nb = chapter_files.read(project / "notebooks" / "01-a.ipynb")
    assert nb.cells[0].source == repository.boot_source(project)
    assert chapter_files.is_fresh(nb)
    assert repository.set_address(new, project) == []


@pytest.mark.parametrize(
    "url",
    ["", "github.com/a/b", "https://github.com/a", "git@github.com:a/b", "https://h/a/b c",
     'https://h/a/b"', "https://h/a/..", "http://github.com/a/b", "https://h/a/b?x", "https://h/a/b\nc"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str, project: Path) -> None:
    with pytest.raises(ValueError, match="not an address like https://github"):
        repository.set_address(url, project)


def test_without_the_package_the_first_cell_says_what_to_do_or_in_colab_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    boot, asked = repository.boot_source(), []
    assert boot.count("%pip install -q --no-deps {source}") == boot.count("%") == 1
    plain = boot.replace("%pip install -q --no-deps {source}", "asked.append(source)")
    address = "git+{}@{}".format(*repository.address())

    exec(plain, {"asked": asked})
    assert (asked, capsys.readouterr().out) == ([], "")  # it is there: nothing to do
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    with pytest.raises(ModuleNotFoundError, match=re.escape(f"pip install {address}")):
        exec(plain, {"asked": asked})
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    exec(plain, {"asked": asked})
    assert asked == [address]
    assert capsys.readouterr().out == f"Installing attention_lab from {address}\n"


def test_every_requirement_has_one_release_and_the_book_is_jupyter_book_1() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("requirements*.txt"))]
    lines = [line for line in "\n".join(texts).splitlines() if re.match(r"[^#\s]", line)]
    loose = [line for line in lines if not re.match(r"[\w.-]+==[\w.]+(?= |$)", line)]
    assert not loose, f"a requirement without its release: {loose}"
    assert sum(line.startswith("jupyter-book==1.") for line in lines) == 1
    for name in ("README.md", "CONTRIBUTING.md", "Makefile"):
        bare = re.findall(r"pip install[^\n]*jupyter-book.*", (ROOT / name).read_text("utf-8"))
        assert not bare, f"{name} installs whatever release there is: {bare}"


def test_the_package_changes_nothing_that_a_reader_has_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    capped = [n for n in project["dependencies"] if not re.fullmatch(r"[\w-]+(>=[\d.]+)?", n)]
    assert not capped, f"an upper bound makes pip change what Colab has: {capped}"
    assert project["requires-python"] == ">=3.11"


@pytest.mark.parametrize(
    ("line", "blanked"),
    [
        ("✓ a.b · here ≈ 2.486 · ledger 2.49 ± 0.02", True),
        ("✓ a.b · here ≈ [2.4, -1e-05] · document A [2.4, 0.0] ± 0.1", True),
        ("✓ a.b · here 65 · document A 65", False),
        ("validation loss 2.486", False),
        ("validation loss ≈ 2.486", False),
        ("here ≈ 2.486 · ledger 2.49", False),
        ("65 characters, loss 2.49 after 3000 steps", False),
    ],
)
def test_only_the_value_of_an_approximate_check_escapes_comparison(
    line: str, blanked: bool
) -> None:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tests" / "nbval_sanitize.cfg", encoding="utf-8")
    assert config.sections() == ["about"]
    rule = config["about"]
    changed = re.sub(rule["regex"], rule["replace"], line)
    assert (changed != line) == blanked
    if blanked:
        before, _, after = line.partition("≈ ")
        assert changed == f"{before}≈ ..." + after[after.index(" · ") :]


def test_converting_twice_gives_the_same_bytes_and_keeps_what_authors_wrote(tmp_path: Path) -> None:
    text, notebook = tmp_path / "a.py", tmp_path / "a.ipynb"
    text.write_text(TEXT, encoding="utf-8")
    convert.convert(text, notebook)
    first = notebook.read_bytes()
    convert.convert(text, notebook)
    assert notebook.read_bytes() == first
    assert b"\r" not in first
    assert first.endswith(b"}\n")
    nb = chapter_files.read(notebook)
    assert [cell.id for cell in nb.cells] == ["boot", "two-words", "print-1", "1-0"]
    assert nb.cells[2].metadata["mystnb"]["image"]["alt"] == "A line that rises"
    assert nb.cells[3].metadata["tags"] == ["raises-exception"]


def test_a_cell_keeps_its_id_when_it_or_its_neighbours_change(tmp_path: Path) -> None:
    text, notebook = tmp_path / "a.py", tmp_path / "a.ipynb"
    text.write_text(TEXT, encoding="utf-8")
    convert.convert(text, notebook)
    nb = chapter_files.read(notebook)
    nb.cells[2].outputs = [nbformat.v4.new_output("stream", name="stdout", text="1\n")]
    chapter_files.write(notebook, nb)
    edited = TEXT.replace("Some text", "Other text").replace("1 / 0", "2 / 0")
    text.write_text(edited + "\n# %%\nprint(1)\n", encoding="utf-8")
    convert.convert(text, notebook)
    cells = chapter_files.read(notebook).cells
    assert [cell.id for cell in cells] == ["boot", "two-words", "print-1", "1-0", "print-1-2"]
    assert [bool(cell.get("outputs")) for cell in cells] == [False, False, True, False, False]


def test_missing_and_doubled_ids_are_made_up_the_same_way_each_time() -> None:
    cells: list[Any] = [
        {"source": "## A *bold* title", "id": "kept"},
        {"source": "x = 1", "id": "kept"},
        {"source": "<details><summary>Solution</summary>"},
        {"source": "你好"},
        {"source": ""},
    ]
    cells = [nbformat.from_dict(cell) for cell in cells]
    chapter_files.name_cells(cells)
    assert [cell["id"] for cell in cells] == ["kept", "x-1", "solution", "cell", "cell-2"]


def test_normalising_drops_what_differs_between_runs_and_machines() -> None:
    editor = {"kernelspec": {"name": "c", "display_name": "C"}, "widgets": {}}
    nb = nbformat.v4.new_notebook(metadata=editor)
    cell = nbformat.v4.new_code_cell("1", metadata={"scrolled": True, "tags": ["x"]})
    cell.outputs = [
        *(nbformat.v4.new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")),
        nbformat.v4.new_output("error", ename="E", evalue="no", traceback=["/home/me/x.py"]),
    ]
    nb.cells = [cell]
    new = chapter_files.normalised(nb)
    assert new.metadata == chapter_files.METADATA
    assert new.cells[0].metadata == {"tags": ["x"]}
    assert new.cells[0].outputs[0].text == "a\nb\n"
    assert new.cells[0].outputs[1].traceback == ["E: no"]
    assert len(nb.cells[0].outputs) == 3, "the notebook given was changed"
    assert chapter_files.normalised(new) == new


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}", "{}", "[]"])
def test_what_is_no_notebook_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "01-a.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"^01-a\.ipynb: no notebook: "):
        chapter_files.read(path)


def test_help_builds_no_book(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(pdf, "build", lambda: pytest.fail("it builds"))
    monkeypatch.setattr("sys.argv", ["pdf.py", "--help"])
    with pytest.raises(SystemExit):
        pdf.main()
    assert "attention_lab.pdf" in capsys.readouterr().out


def test_the_hash_follows_package_and_code_but_neither_text_nor_boot(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    first = chapter_files.digest(nb, tmp_path)
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    (tmp_path / "a.pyc").write_bytes(b"\0")
    nb.cells.append(nbformat.v4.new_markdown_cell("text"))
    chapter_files.put_boot(nb, chapter_files.BOOT.format(url="u", branch="b"))
    assert chapter_files.digest(nb, tmp_path) == first
    (tmp_path / "a.js").write_text("1", encoding="utf-8")
    second = chapter_files.digest(nb, tmp_path)
    nb.cells[1].source = "2"
    assert len({first, second, chapter_files.digest(nb, tmp_path)}) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "tags", "fault"),
    [
        ("1 / 0", [], "ZeroDivisionError"),
        ("import sys; print('no', file=sys.stderr)", [], "writes to stderr: no"),
        ("1", ["raises-exception"], "raises nothing"),
        ("x = (", [], "Failed to parse"),
    ],
)
def test_a_notebook_with_a_fault_is_not_stored(
    source: str, tags: list[str], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "01-a.ipynb"
    cell = nbformat.v4.new_code_cell(source, id="bad", metadata={"tags": tags})
    chapter_files.write(path, nbformat.v4.new_notebook(cells=[cell]))
    before = path.read_bytes()
    with pytest.raises(notebooks.NotebookFault, match=re.escape(fault)) as caught:
        notebooks.refresh(path)
    assert str(caught.value).startswith("01-a.ipynb")
    assert path.read_bytes() == before
