"""The formulas of the pages, as MathML that browsers know."""

import re

import pytest

from tools.extensions.formulas import mathml


def inside(tex, **options):
    return re.fullmatch(r"<math [^>]*>(.*)</math>", mathml(tex, **options))[1]


def texts(tex):
    return re.findall(r">([^<>]+)<", mathml(tex))


def test_bold_letters_are_characters_of_their_own():
    assert texts(r"\mathbf{Wx}") == ["𝐖", "𝐱"]
    assert texts(r"\boldsymbol\Pi \mathbf{1}") == ["𝜫", "𝟏"]
    assert 'class="italic"' in mathml(r"\textit{words}")
    assert "mathvariant" not in mathml(r"\mathbf{W} \textit{a} \boldsymbol\alpha")


def test_functions_have_space_where_tex_has_it():
    thin = '<mspace width="0.167em" />'
    due = f"<mrow><mn>2</mn>{thin}<mi>ln</mi>{thin}<mi>x</mi></mrow>"
    assert inside(r"2 \ln x") == due
    assert thin not in inside(r"\ln(x) + \operatorname{softmax}(x)")
    assert f"<msup><mi>sin</mi><mn>2</mn></msup>{thin}" in inside(r"\sin^2 x")
    assert "<mi>max</mi>" in inside(r"\max(0, x)")


def test_signs_bars_and_fractions_in_a_line():
    assert '<mo form="prefix">−</mo><mn>1</mn>' in inside("(-1, 2)")
    assert "prefix" not in inside("(a) - 1 = x - 2")
    assert inside("= 1").startswith('<mrow><mo lspace="0">=</mo>')
    assert "lspace" not in inside("a = 1")
    forms = re.findall('form="(prefix|postfix)"', inside(r"|a - b| + \lVert c\rVert"))
    assert forms == ["prefix", "postfix"] * 2
    assert "form" not in inside("p(a | b)")
    assert '<mo lspace="0" rspace="0">/</mo>' in inside("j/d")
    assert inside("x.").endswith('<mo lspace="0" rspace="0">.</mo></mrow>')


def test_what_is_no_operator_has_no_space_of_its_own():
    assert inside(r"-\infty") == "<mrow><mo>−</mo><mi>∞</mi></mrow>"
    assert inside(r"K^\top") == "<mrow><msup><mi>K</mi><mi>⊤</mi></msup></mrow>"
    assert "<mi>…</mi>" in inside(r"1, \ldots, n")


def test_scripts_are_close_and_a_sign_may_follow_a_space():
    assert inside(r"x_{t-1}").count('lspace="0" rspace="0"') == 1
    assert "lspace" not in inside(r"x_t - 1")
    assert inside(r"(1,\ -2)").count('form="prefix"') == 1


def test_rows_under_each_other():
    two = inside(r"\begin{aligned} a &= b \\ &= c \end{aligned}", block=True)
    assert two.count("<mtr>") == 2
    assert re.findall('<mtd class="([a-z]+)"', two) == ["right", "left"] * 2
    assert "&" not in re.sub("&#?[0-9a-z]+;", "", two)


def test_the_tex_is_kept_and_a_command_without_a_translation_is_told():
    assert mathml("a <\n b").startswith('<math alttext="a &lt; b">')
    assert mathml("x", block=True).startswith('<math alttext="x" display="block">')
    with pytest.raises(ValueError, match=r"no MathML for '\\\\oops' in the formula"):
        mathml(r"x \oops")
