"""The figure of a trained language model that writes in the browser."""

import torch

from d2lmini.data import normalise
from d2lmini.data.texts import PRONOUNS
from d2lmini.figures.colours import POSITIVE
from d2lmini.figures.stills import empty
from d2lmini.figures.weights import in_bits, on_cpu, pack
from d2lmini.figures.widget import Figure

SHOWN = 8  # candidates
TRIES = [
    (
        "Cold",
        {"temperature": 0.1},
        "At a temperature of 0.1 the likeliest word takes most of the probability.",
    ),
    (
        "Hot",
        {"temperature": 3.0},
        "At a temperature of 3 the probabilities come closer together. Write to the end.",
    ),
    (
        "Only the best",
        {"top_k": 1},
        "One candidate is left: greedy search, and other luck changes nothing.",
    ),
]


def explore_writer(net, tokens, prompts) -> Figure:
    """Show the next-token candidates and the cache of a trained language model, in the browser.

    Args:
        net: a LanguageModel of chapter 15.
        tokens: the vocabulary's tokens, by id.
        prompts: prefixes of texts; the first is shown initially.
    Source: chapter 15.
    """
    numbers = on_cpu(net.state_dict())
    attention = net.blocks[0].attention
    data = {
        **pack(numbers, attention.num_heads, len(net.blocks), bits=8),
        "num_kv_heads": attention.num_kv_heads,
        "max_len": net.max_len,
        "tokens": tokens,
        "prompts": list(prompts),
        "pronouns": PRONOUNS,
    }
    state = {
        "prompt": prompts[0],
        "written": [],
        "temperature": 1.0,
        "top_k": 20,
        "seed": 1,
    }
    words = ["<bos>", *normalise(prompts[0]).split()]
    ids = [tokens.index(word if word in tokens else "<unk>") for word in words]
    with torch.no_grad():
        logits, _ = net(torch.tensor([ids], device=net.embedding.weight.device))
    best = logits[0, -1].softmax(dim=-1).cpu().topk(min(SHOWN, len(tokens)))
    words = [tokens[i] for i in best.indices.tolist()]
    picture, [[axis]] = empty()
    axis.barh(words[:5], best.values.tolist()[:5], color=POSITIVE)
    axis.invert_yaxis()
    axis.set_title(f"{prompts[0]} …", fontsize=11, weight="bold", loc="right")
    axis.tick_params(left=False, labelsize=12)
    axis.set(xticks=[])
    axis.spines[["top", "right", "bottom"]].set_visible(False)
    alt = (
        f"The words that could follow “{prompts[0]}”, with their probabilities: {words[0]} "
        f"{best.values[0]:.2f}, {words[1]} {best.values[1]:.2f}, and so on."
    )
    return Figure("writer.js", state, picture, alt, data, in_bits(numbers), TRIES)
