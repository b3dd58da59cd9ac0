"""Makes honest and dishonest submissions of the babylm task and has its infer.py judge them, all in one process.

Runs on the task's interpreter, which has torch: `python babylm_models.py INFER FOLDER`. What infer.py says of each is
printed as JSON.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import runpy
import shutil
import sys
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertLMHeadModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    XLNetConfig,
    XLNetLMHeadModel,
)

TEXTS = {
    "one.test": "The Cat sat on the mat.\nThe dog said <s> and  left. " * 9 + "\n",
    "two.test": "\tNaïve cats; MANY cats!\n\n" * 8,
}
VOCABULARY = 300
torch.set_num_threads(1)


def bytes_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["The cats sat on many mats, and the dogs said so. "] * 20, trainer)
    return tokenizer


def gpt2(**changes) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    settings = {
        "vocab_size": VOCABULARY, "n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2,
        "bos_token_id": 0, "eos_token_id": 0,
    } | changes  # fmt: skip
    model = GPT2LMHeadModel(GPT2Config(**settings))
    with torch.no_grad():
        model.transformer.wte.weight.mul_(20)
    return model


def bert(decoder: bool) -> BertLMHeadModel:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, is_decoder=decoder, bos_token_id=0, initializer_range=0.4,
    )  # fmt: skip
    return BertLMHeadModel(config)


def xlnet() -> XLNetLMHeadModel:
    torch.manual_seed(0)
    config = XLNetConfig(
        vocab_size=VOCABULARY,
        d_model=16,
        n_layer=1,
        n_head=2,
        d_inner=32,
        bos_token_id=0,
        initializer_range=0.4,
    )
    return XLNetLMHeadModel(config)


def llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=2048, tie_word_embeddings=False, bos_token_id=None, eos_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(config)


class Trap:
    """Pickles to a call that leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


class Maker:
    """One function a submission; each gets a workspace that holds a good one in `model`, and spoils it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = folder / "executed"

    def lay(self, workspace: Path, model=None, tokenizer: Tokenizer | None = None) -> Path:
        place = workspace / "model"
        (model or gpt2()).save_pretrained(place)
        (tokenizer or bytes_tokenizer()).save(str(place / "tokenizer.json"))
        return place

    def good(self, place: Path) -> None:
        pass

    def good_in_half_precision(self, place: Path) -> None:
        gpt2().half().save_pretrained(place)

    def good_of_another_architecture(self, place: Path) -> None:
        llama().save_pretrained(place)

    def good_decoder(self, place: Path) -> None:
        bert(decoder=True).save_pretrained(place)

    def good_with_a_tokenizer_that_would_cut_and_pad(self, place: Path) -> None:
        tokenizer = bytes_tokenizer()
        tokenizer.enable_truncation(5)
        tokenizer.enable_padding(length=9)
        tokenizer.save(str(place / "tokenizer.json"))

    def good_with_things_beside_it(self, place: Path) -> None:
        (place / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(self.mark)))
        (place / "adapter_config.json").write_text('{"base_model_name_or_path": "elsewhere"}')
        (place / "generation_config.json").write_text('{"custom_generate": "x", "trust_remote_code": true}')
        (place / "modeling_evil.py").write_text(self._code())
        (place / "tokenizer_config.json").write_text(
            '{"auto_map": {"AutoTokenizer": ["modeling_evil.T", null]}}'
        )
        for name in ("torch", "transformers", "tokenizers", "json", "sitecustomize", "usercustomize"):
            (place.parent / f"{name}.py").write_text(self._code())
            (place / f"{name}.py").write_text(self._code())

    def _code(self) -> str:
        return f"import pathlib\npathlib.Path({str(self.mark)!r}).touch()\nraise SystemExit('imported')\n"

    def huge_logits(self, place: Path) -> None:
        self._scaled(place, 1e6)

    def pickle_only(self, place: Path) -> None:
        (place / "model.safetensors").unlink()
        (place / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(self.mark)))

    def pickle_as_safetensors(self, place: Path) -> None:
        (place / "model.safetensors").write_bytes(pickle.dumps(Trap(self.mark)))

    def torch_file_as_safetensors(self, place: Path) -> None:
        torch.save(gpt2().state_dict(), place / "model.safetensors")

    def pickle_as_tokenizer(self, place: Path) -> None:
        (place / "tokenizer.json").write_bytes(pickle.dumps(Trap(self.mark)))

    def remote_code(self, place: Path) -> None:
        self._configured(place, auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"})

    def remote_code_of_its_own_kind(self, place: Path) -> None:
        maps = {"AutoConfig": "modeling_evil.C", "AutoModelForCausalLM": "modeling_evil.Evil"}
        self._configured(place, model_type="evil", auto_map=maps)

    def remote_code_deep_inside(self, place: Path) -> None:
        self._configured(place, text_config={"inner": [{"auto_map": {"AutoModel": "modeling_evil.Evil"}}]})

    def unknown_kind(self, place: Path) -> None:
        self._configured(place, model_type="evil")

    def no_language_model(self, place: Path) -> None:
        self._configured(place, model_type="vit")

    def quantised(self, place: Path) -> None:
        self._configured(place, quantization_config={"quant_method": "gptq", "bits": 4})

    def foreign_kernel(self, place: Path) -> None:
        self._configured(place, _attn_implementation="someone/kernel")

    def no_configuration(self, place: Path) -> None:
        (place / "config.json").write_text("[1, 2]")

    def one_token(self, place: Path) -> None:
        gpt2(vocab_size=1).save_pretrained(place)
        Tokenizer(models.WordLevel({"the": 0}, unk_token="the")).save(str(place / "tokenizer.json"))

    def one_token_and_no_text(self, place: Path) -> None:
        gpt2(vocab_size=1).save_pretrained(place)
        Tokenizer(models.BPE({"a": 0}, [])).save(str(place / "tokenizer.json"))

    def unknown_pieces(self, place: Path) -> None:
        tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "The": 1, "Cat": 2}, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.save(str(place / "tokenizer.json"))

    def drops_text(self, place: Path) -> None:
        self._normalised(place, normalizers.Replace("Cat", ""))

    def drops_white_space(self, place: Path) -> None:
        self._normalised(place, normalizers.Strip())

    def lowercases(self, place: Path) -> None:
        self._normalised(place, normalizers.Lowercase())

    def drops_accents(self, place: Path) -> None:
        self._normalised(place, normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]))

    def cuts_by_chance(self, place: Path) -> None:
        self._tokenizer(place, lambda content: content["model"].update(dropout=0.3))

    def bidirectional(self, place: Path) -> None:
        bert(decoder=False).save_pretrained(place)

    def bidirectional_permutations(self, place: Path) -> None:
        xlnet().save_pretrained(place)

    def not_a_number(self, place: Path) -> None:
        self._scaled(place, math.nan)

    def infinite(self, place: Path) -> None:
        self._scaled(place, 1e38)

    def small_vocabulary(self, place: Path) -> None:
        gpt2(vocab_size=200).save_pretrained(place)

    def wrong_shape(self, place: Path) -> None:
        self._weights(place, lambda all: all.update({"transformer.ln_f.weight": torch.ones(17)}))

    def missing_weight(self, place: Path) -> None:
        self._weights(place, lambda all: all.pop("transformer.h.0.mlp.c_fc.weight"))

    def renamed_weight(self, place: Path) -> None:
        self._weights(place, lambda all: all.update({"other": all.pop("transformer.h.0.mlp.c_fc.weight")}))

    def additional_weight(self, place: Path) -> None:
        self._weights(place, lambda all: all.update({"more": torch.ones(3)}))

    def whole_numbers(self, place: Path) -> None:
        self._weights(place, lambda all: all.update({"more": torch.ones(3, dtype=torch.int64)}))

    def larger_than_its_weights(self, place: Path) -> None:
        self._configured(place, n_embd=2**20)

    def no_start(self, place: Path) -> None:
        self._configured(place, bos_token_id=None, eos_token_id=VOCABULARY)

    def nonsense_settings(self, place: Path) -> None:
        self._configured(place, n_head=-3)

    def endless(self, place: Path) -> None:
        self._configured(place, n_layer=10**8)

    def folder_is_a_link(self, place: Path) -> None:
        place.rename(place.parent / "elsewhere")
        place.symlink_to("elsewhere")

    def file_is_a_link(self, place: Path) -> None:
        (place / "config.json").rename(place / "other.json")
        (place / "config.json").symlink_to("other.json")

    def file_is_a_folder(self, place: Path) -> None:
        (place / "tokenizer.json").unlink()
        (place / "tokenizer.json").mkdir()

    def nothing(self, place: Path) -> None:
        shutil.rmtree(place)

    def _configured(self, place: Path, **changes) -> None:
        file = place / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))
        (place / "modeling_evil.py").write_text(self._code())

    def _normalised(self, place: Path, normalizer) -> None:
        tokenizer = bytes_tokenizer()
        tokenizer.normalizer = normalizer
        tokenizer.save(str(place / "tokenizer.json"))

    def _tokenizer(self, place: Path, change) -> None:
        content = json.loads((place / "tokenizer.json").read_text())
        change(content)
        (place / "tokenizer.json").write_text(json.dumps(content))

    def _weights(self, place: Path, change) -> None:
        weights = load_file(place / "model.safetensors")
        change(weights)
        save_file(weights, place / "model.safetensors", metadata={"format": "pt"})

    def _scaled(self, place: Path, factor: float) -> None:
        def change(weights):
            weights["transformer.ln_f.weight"] = weights["transformer.ln_f.weight"] * factor

        self._weights(place, change)


def by_hand(place: Path) -> dict[str, float]:
    """What an honest GPT-2 of context 32 should get, one prefix after the other, as the problem text says it."""
    model = GPT2LMHeadModel.from_pretrained(place).eval()
    tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
    found = {}
    for name, text in TEXTS.items():
        ids = [0, *tokenizer.encode(text).ids]
        begin, end, total = 0, 32, 0.0
        for index in range(1, len(ids)):
            if index == end:
                begin, end = end - 8, end - 8 + 32
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([ids[begin:index]])).logits[0, -1].double()
            chances = logits.exp() / logits.exp().sum()
            total -= math.log(chances[ids[index]])
        found[name] = total
    return found


def tiny(infer, place: Path):
    """A model of seven tokens and a context of eight, as infer.py holds it."""
    gpt2(vocab_size=7, n_positions=8).save_pretrained(place)
    stored = infer["checked_weights"](place / "model.safetensors")
    config = json.loads((place / "config.json").read_text())

    class Seven:
        size = 7

    return infer["Model"](place, config, stored, Seven())


def of_all_pairs(infer, folder: Path) -> float:
    """The probabilities of all texts of two tokens, which must be one in sum."""
    model = tiny(infer, folder / "tiny")
    return sum(math.exp(-model.surprise(list(pair))) for pair in itertools.product(range(7), repeat=2))


def looking_ahead(infer, folder: Path, leak) -> str:
    """What is said of a model that adds `leak(tokens)` to its logits, over ten files."""
    model = tiny(infer, folder / "tiny")
    honest = model._model

    def leaking(input_ids):
        output = honest(input_ids=input_ids)
        output.logits = output.logits + leak(input_ids)
        return output

    model._model = leaking
    try:
        for index in range(10):
            model.demand_causality([1 + (index + step * step) % 6 for step in range(90)], index, 10)
    except infer["RefusedError"] as refusal:
        return str(refusal)
    return ""


def next_token(tokens, places=slice(None)):
    """Five more for the token that comes next, at these places."""
    ahead = torch.zeros(*tokens.shape, 7)
    ahead[:, :-1] = 5.0 * torch.nn.functional.one_hot(tokens[:, 1:], 7)
    chosen = torch.zeros(tokens.shape[1], 1)
    chosen[places] = 1
    return ahead * chosen


def leaks(infer, folder: Path) -> dict[str, str]:
    some = {
        "nowhere": lambda tokens: torch.zeros(*tokens.shape, 7),
        "where no passage begins": lambda tokens: next_token(tokens) * (tokens[:, :1, None] != 0),
        "between rows": lambda tokens: torch.roll(next_token(tokens), 1, 0) * (len(tokens) > 1),
    }
    for place in range(7):
        some[f"at place {place}"] = lambda tokens, place=place: next_token(tokens, place)
    return {name: looking_ahead(infer, folder, leak) for name, leak in some.items()}


def main(script: str, folder: Path) -> None:
    infer = runpy.run_path(script)
    maker = Maker(folder)
    names = [name for name in vars(Maker) if not name.startswith("_") and name != "lay"]
    judged = {}
    for name in names:
        workspace, aside = folder / name, folder / f"{name}-aside"
        aside.mkdir(parents=True)
        place = maker.lay(workspace)
        getattr(maker, name)(place)
        judged[name] = infer["judged"](place, TEXTS, 3.0 if name == "endless" else 60.0, aside)
    print(
        json.dumps(
            {
                "judged": judged,
                "by hand": by_hand(folder / "good" / "model"),
                "pairs": of_all_pairs(infer, folder),
                "leaks": leaks(infer, folder),
                "executed": maker.mark.exists(),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
