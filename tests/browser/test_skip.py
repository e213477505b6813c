"""Skip links lead past the contents to the text and to each figure, by keyboard."""

import pytest

PLACES = {
    "12-reading-a-verdict": {"Skip to figure": "figure-verdict"},
    "05-several-heads": {
        "Skip to figure: Where trained heads look": "figure-where-trained-heads-look",
        "Skip to figure: Heads": "figure-heads",
    },
}


@pytest.mark.parametrize(("name", "figures"), PLACES.items())
def test_tab_and_enter_lead_to_a_figure(visit, name, figures):
    page = visit("file", f"book/{name}.html", width=400).page
    links = page.locator("#pst-skip-link a")
    assert links.all_inner_texts() == ["Skip to main content", *figures]
    for n, place in enumerate(figures.values(), start=1):
        page.reload()
        links.nth(n).wait_for(state="attached")
        for _ in range(1 + n):
            page.keyboard.press("Tab")
        assert links.nth(n).evaluate("e => e === document.activeElement")
        page.wait_for_function(  # it slides in
            "e => e.getBoundingClientRect().top >= 0", arg=links.nth(n).element_handle()
        )
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == place
        top = page.locator(f"#{place}").evaluate("e => e.getBoundingClientRect().top")
        assert -50 < top < 500
        page.keyboard.press("Tab")
        inside = f"document.getElementById('{place}').contains(document.activeElement)"
        assert page.evaluate(f"document.activeElement.id !== '{place}' && {inside}")
        # Once left, a figure is focused only in its controls.
        assert page.locator(f"#{place}").get_attribute("tabindex") is None


def test_every_page_with_figures_offers_them(visit, page_name):
    page = visit("file", page_name).page
    figures = page.locator(".d2lmini-figure[id^=figure-]").count()
    assert page.locator("#pst-skip-link a").count() == 1 + figures
