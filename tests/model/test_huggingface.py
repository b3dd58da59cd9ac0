"""Models that transformers runs on this machine: a tiny one, with weights made at random here."""

from __future__ import annotations

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model import Message, Sampling, TooLongError, load_model

pytestmark = pytest.mark.slow

HELLO = [Message(role="system", content="be brief"), Message(role="user", content="say hello to the world")]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch = pytest.importorskip(
        "torch", reason="torch is not installed: pip install 'mlagentbench[huggingface]'"
    )
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    words = [
        "<end>",
        "<unknown>",
        *("be", "brief", "say", "hello", "to", "the", "world", "system", "user", "assistant"),
        *"abcdefg",
    ]
    vocabulary = {word: index for index, word in enumerate(words)}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unknown>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<end>", unk_token="<unknown>", chat_template=TEMPLATE
    )
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        eos_token_id=None,
        bos_token_id=None,
    )
    where = tmp_path_factory.mktemp("tiny")
    transformers.LlamaForCausalLM(config).save_pretrained(where)
    tokenizer.save_pretrained(where)
    return where


@pytest.fixture(scope="module")
def model(folder):
    return load_model(f"huggingface/{folder}")


def test_it_writes_up_to_its_budget_and_counts_tokens(model):
    completion = model.complete(HELLO, Sampling(max_tokens=12, seed=3))
    assert completion.usage.output == 12
    assert completion.usage.input == 10
    assert completion.stop_reason == "length"
    assert completion.text
    assert not model.speaks_tools


def test_a_seed_gives_the_same_text_and_another_seed_another(model):
    texts = [model.complete(HELLO, Sampling(max_tokens=20, temperature=1.0, seed=s)).text for s in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_temperature_of_zero_needs_no_seed(model):
    sampling = Sampling(max_tokens=20, temperature=0)
    assert model.complete(HELLO, sampling).text == model.complete(HELLO, sampling).text


def test_it_ends_at_a_stop_sequence(model):
    whole = model.complete(HELLO, Sampling(max_tokens=30, temperature=1.0, seed=5))
    word = whole.text.split()[4]
    cut = model.complete(HELLO, Sampling(max_tokens=30, temperature=1.0, seed=5, stop=(word,)))
    assert cut.text == whole.text[: whole.text.index(word)]
    assert cut.stop_reason == "stop"
    assert cut.usage.output < 30


def test_a_prompt_that_does_not_fit_is_refused_before_the_work(model):
    with pytest.raises(TooLongError, match="context of 64"):
        model.complete(HELLO, Sampling(max_tokens=60))


def test_a_schema_that_it_cannot_hold_to_is_noted(model):
    completion = model.complete(HELLO, Sampling(max_tokens=3, seed=1, json_schema={"type": "object"}))
    assert "JSON schema" in completion.notes[0]


def test_a_folder_that_holds_no_model_is_told(folder, tmp_path):
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(f"huggingface/{tmp_path}")
