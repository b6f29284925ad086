"""The page in a real browser: it answers, asks for nothing, fits a phone, can be read by all."""

from __future__ import annotations

from itertools import pairwise

import pytest

api = pytest.importorskip("playwright.sync_api")

pytestmark = pytest.mark.slow

ARGUMENTS = [
    "--no-sandbox",  # which root, as in containers, cannot have
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

CONTRASTS = """() => {
  const channel = (one) => {
    const c = one / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  const read = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    return { rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1 };
  };
  const light = (rgb) => {
    const [red, green, blue] = rgb.map(channel);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ratio = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  // The nearest background that is not see-through: of a cell in the heat map, its own colour.
  const behind = (element) => {
    if (element.matches(".heat text") && element.textContent.endsWith("%")) {
      const box = element.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const cell = [...element.ownerSVGElement.querySelectorAll(".cells path")].find((one) => {
        const own = one.getBoundingClientRect();
        return own.left <= x && x <= own.right && own.top <= y && y <= own.bottom;
      });
      return read(getComputedStyle(cell).fill).rgb;
    }
    for (let one = element; one; one = one.parentElement) {
      const colour = read(getComputedStyle(one).backgroundColor);
      if (colour.alpha === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest("script")) continue;
    const style = getComputedStyle(element);
    const ink = read(element.ownerSVGElement ? style.fill : style.color).rgb;
    found.push([ratio(ink, behind(element)), element.textContent.trim().slice(0, 30)]);
  }
  return found;
}"""

UNNAMED = """() => [...document.querySelectorAll("svg, [role=region], button, textarea, .point")]
  .filter((one) => one.getClientRects().length)
  .filter((one) => !(one.getAttribute("aria-label") || one.textContent).trim())
  .map((one) => one.outerHTML.slice(0, 80))"""

OUTSIDE = """() => [...document.querySelectorAll("svg text, svg use")]
  .filter((one) => one.getClientRects().length)
  .filter((one) => {
    const box = one.getBoundingClientRect(), frame = one.ownerSVGElement.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1
      || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  })
  .map((one) => one.outerHTML)"""


@pytest.fixture(scope="module")
def browser(browser_program):
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser_program, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def show(browser, report_file):
    """Open a report; afterwards nothing may have been asked for or complained about."""
    pages, complaints, requests = [], [], []

    def opened(cv, width=1000, scheme="light", scripts=True, **options):
        file = report_file(cv, **{"effects": 3, "interactions": 0} | options)
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
            java_script_enabled=scripts,
            has_touch=width < 500,
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        pages.append(context)
        return page

    yield opened
    for context in pages:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == len(pages)


def readout(page):
    return page.locator("#sizes figure.scores > .readout").first


def points(page):
    return page.locator("#sizes > figure.scores svg:visible .point")


def test_the_first_figures_are_those_of_the_suggested_size(show, small_cv):
    page = show(small_cv)
    assert page.title() == "Which inputs are enough"
    assert readout(page).inner_text().startswith("Size 3 (+ bp): keeps ")
    assert page.locator(".answer").inner_text().startswith("3 of 5 inputs predict")


def test_the_plot_answers_a_pointer(show, small_cv):
    page = show(small_cv)
    for size in (1, 4, 0):
        points(page).nth(size).hover()
        said = readout(page).inner_text()
        assert said.startswith(f"Size {size}")
        assert said == points(page).nth(size).get_attribute("aria-label")
    assert "active" in points(page).nth(0).get_attribute("class")


def test_all_of_a_column_answers_not_only_its_point(show, small_cv):
    page = show(small_cv)
    points(page).nth(2).scroll_into_view_if_needed()
    box = points(page).nth(2).locator(".column").bounding_box()
    page.mouse.move(box["x"] + 3, box["y"] + box["height"] - 3)
    assert readout(page).inner_text().startswith("Size 2")


def test_the_plot_answers_the_keyboard(show, small_cv):
    page = show(small_cv)
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('point')"):
            break
    active = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(active).startswith("Size 3")  # one stop: where the suggestion is
    for key, size in (
        ("ArrowRight", 4),
        ("ArrowLeft", 3),
        ("Home", 0),
        ("ArrowLeft", 0),
        ("End", 5),
    ):
        page.keyboard.press(key)
        assert page.evaluate(active).startswith(f"Size {size}")
        assert readout(page).inner_text() == page.evaluate(active)
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.classList.contains('point')")


def test_the_other_curves_answer_too_and_by_themselves(show, small_cv):
    page = show(small_cv)
    figure = page.locator("details.more figure").nth(1)
    figure.locator("svg:visible .point").nth(1).hover()
    assert figure.locator(".readout").inner_text().startswith("Size 1")
    assert readout(page).inner_text().startswith("Size 3")


def test_tables_are_copied(show, small_cv):
    page = show(small_cv)
    button = page.locator("#tables button").first
    button.click()
    page.wait_for_function("document.querySelector('#tables button').textContent === 'Copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("size,input,agreement,best_inputs,verdict,kept,")
    assert len(copied.strip().splitlines()) == 7


def test_without_scripts_everything_is_there(show, small_cv):
    page = show(small_cv, scripts=False)
    assert page.locator("#sizes > figure.scores svg:visible .point title").count() == 6
    assert page.locator("#tables button:visible").count() == 0
    page.locator("#tables summary").first.click()
    assert page.locator("#csv-scores").input_value().startswith("size,input,")


@pytest.mark.parametrize(
    "cv", ["small_cv", "nasty_cv", "large_cv", "real_cv", "poor_cv", "exchanged_cv"]
)
@pytest.mark.parametrize("width", [320, 1000])
def test_no_screen_has_to_be_scrolled_sideways(show, request, cv, width):
    page = show(request.getfixturevalue(cv), width=width, effects=2)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []


def test_a_tap_answers_on_a_phone(show, small_cv):
    page = show(small_cv, width=360)
    points(page).nth(2).tap()
    assert readout(page).inner_text().startswith("Size 2")
    size = page.locator("#sizes > figure.scores svg:visible text").first.evaluate(
        "(one) => one.getBoundingClientRect().height"
    )
    assert size > 11  # labels are not scaled down


def test_names_do_not_run(show, nasty_cv):
    page = show(nasty_cv, title="</title><script>alert(1)</script>", warnings=["<script>x"])
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.title() == "</title><script>alert(1)</script>"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("cv", ["small_cv", "poor_cv", "exchanged_cv"])
def test_text_stands_out_from_what_is_behind_it(show, request, cv, scheme):
    page = show(request.getfixturevalue(cv), scheme=scheme, command="run", warnings=["look"])
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 150
    assert [one for one in found if one[0] < 4.5] == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_drawings_and_controls_have_names_and_headings_an_order(show, small_cv):
    page = show(small_cv)
    assert page.evaluate(UNNAMED) == []
    assert page.evaluate("document.documentElement.lang") == "en"
    tree = page.locator("main").aria_snapshot()
    assert '- heading "Which inputs are enough" [level=1]' in tree
    assert '- region "How many inputs are enough"' in tree
    assert 'img "Size 3 (+ bp): keeps' in tree
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_print_is_light_unfolded_and_without_controls(show, small_cv):
    page = show(small_cv, scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("document.querySelector('details.more').open = false")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details.more svg:visible").count() == 2
    assert page.locator("button:visible, textarea:visible, .hint:visible").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.more svg:visible").count() == 0


BROKEN = """() => [...document.querySelectorAll("th, td, h1, h2, h3, li, figcaption")]
  .filter((one) => one.getClientRects().length)
  .flatMap((one) => [...one.childNodes].filter((node) => node.nodeType === 3))
  .flatMap((node) => [...node.textContent.matchAll(/\\S+/g)].map((word) => {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
    return [word[0], tops.size];
  }))
  .filter(([word, lines]) => lines > 1 && word.length < 25 && !word.includes("-"))"""


@pytest.mark.parametrize("cv", ["small_cv", "real_cv", "exchanged_cv"])
def test_no_word_is_broken_on_a_phone_and_wide_tables_say_so(show, request, cv):
    page = show(request.getfixturevalue(cv), width=390, effects=2)
    assert page.evaluate(BROKEN) == []
    wide = page.evaluate(
        "[...document.querySelectorAll('.scrolling')].filter((one) => one.scrollWidth >"
        " one.clientWidth + 1).length"
    )
    assert wide >= 1
    assert page.locator(".more-to-see:visible").count() == wide


def test_print_has_no_notes_on_scrolling_and_the_wide_drawings(show, small_cv):
    page = show(small_cv, width=390)
    page.emulate_media(media="print")
    assert page.locator(".more-to-see:visible").count() == 0
    assert page.locator("svg.wide:visible").count() == 3
    assert page.locator("svg.narrow:visible").count() == 0
