"""What the search index contains of a page."""

import pytest

from tools.extensions.section_search import formula, parts_of

PAGE = """<nav>contents</nav><article>
<section id="masks"><h1>2 Masks<a class="headerlink">#</a></h1><p>What for?</p>
<section id="padding"><h2>Padding</h2><p>So we <b>pad</b>, <span
class="math"><math alttext="n \\times n"></math></span> times.</p><div class="cell"><div
class="cell_input"><pre><span class="k">def</span> <span>pad</span>():
assert not found
    print(pad)
torch.manual_seed(0)
</pre></div><div class="cell_output"><div class="output"><pre>0.731</pre></div></div></div>
<p>Now
<code>&lt;pad&gt;</code>.</p>
<section id="deeper"><h3>Deeper &amp; down</h3><p>More.</p></section></section>
<section id="exercises"><h2>Exercises</h2><div class="exercise" id="masks-1"><p
class="admonition-title"><span>Exercise 2.1 </span> (A mask (small))</p><section
id="exercise-content"><p>Write it.</p><div class="cell_input"><pre>def f():
    raise NotImplementedError</pre></div></section></div><div class="solution"><p>So.</p></div>
<p id="term-x"><strong>x</strong> is a term.</p></section></section></article>"""


def test_the_parts_of_a_page():
    assert list(parts_of(PAGE)) == [
        ("", "2 Masks", "What for?"),
        ("padding", "Padding", "So we pad, n × n times. Now <pad>. def pad():"),
        ("deeper", "Deeper & down", "More."),
        ("exercises", "Exercises", ""),
        ("masks-1", "Exercise 2.1 A mask (small)", "Write it."),
        ("term-x", "x", "x is a term."),
    ]


@pytest.mark.parametrize(
    ("tex", "said"),
    [
        (r"d_k", "d_k"),
        (r"\sqrt{d_k}", "√d_k"),
        (r"\mathbf q \cdot \mathbf k", "q · k"),
        (r"\textcolor{#b34d00}{\mathbf q} \cdot \mathbf k", "q · k"),
        (r"F(\mathbf x)", "F(x)"),
        (r"\frac12 x", "…"),
        (r"\begin{pmatrix} 1 \\ 0 \end{pmatrix}", "…"),
    ],
)
def test_a_formula_in_a_line(tex, said):
    assert " ".join(formula(tex).split()) == said
