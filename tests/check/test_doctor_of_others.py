"""The doctor on small, random models of Hugging Face: all are right, and none may be accused."""

import transformers as hf
from conftest import for_each
from faults import seeded, warnings_of

from d2lmini import check

VOCAB = 50
SIZES = {"d_model": 32, "vocab_size": VOCAB}
PAIRS = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
}
ROTARY = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

LANGUAGE_MODELS = {
    "GPT-2": lambda: hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, **ENDS)
    ),
    "Llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**ROTARY, **ENDS)),
    "Mistral, a window of 4": lambda: hf.MistralForCausalLM(
        hf.MistralConfig(**ROTARY, **ENDS, sliding_window=4)
    ),
    "GPT-NeoX": lambda: hf.GPTNeoXForCausalLM(
        hf.GPTNeoXConfig(
            **{k: v for k, v in ROTARY.items() if k != "num_key_value_heads"}, **ENDS
        )
    ),
    "OPT": lambda: hf.OPTForCausalLM(
        hf.OPTConfig(
            vocab_size=VOCAB,
            hidden_size=32,
            word_embed_proj_dim=32,
            ffn_dim=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            **ENDS,
        )
    ),
}
TRANSLATORS = {
    "BART": lambda: hf.BartForConditionalGeneration(
        hf.BartConfig(**SIZES, **PAIRS, **ENDS, decoder_start_token_id=2)
    ),
    "Marian": lambda: hf.MarianMTModel(
        hf.MarianConfig(
            **SIZES, **PAIRS, **ENDS, decoder_start_token_id=0, forced_eos_token_id=2
        )
    ),
    "T5": lambda: hf.T5ForConditionalGeneration(
        hf.T5Config(
            **SIZES,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
            decoder_start_token_id=0,
        )
    ),
}


@for_each(LANGUAGE_MODELS)
def test_no_right_language_model_is_accused(name):
    report = check.language_model(seeded(LANGUAGE_MODELS[name]), VOCAB)
    assert report, report
    assert {f.name for f in report.findings if f.verdict == "not tried"} == set()
    # A window is said: the last output does not depend on the first tokens. And the positions of
    # GPT-2 are counted from the left end, padding included.
    warned = {"Mistral, a window of 4": {"past"}, "GPT-2": {"padding"}}
    assert warnings_of(report) == warned.get(name, set()), report


@for_each(TRANSLATORS)
def test_no_right_translator_is_accused(name):
    report = check.translator(seeded(TRANSLATORS[name]), VOCAB, VOCAB)
    assert report, report
    assert not warnings_of(report), report
