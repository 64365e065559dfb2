#!/usr/bin/env python3
"""Opens pages of `gpuwatch report --html` in headless Chromium.

html_browser.py GPUWATCH MAKE_SAMPLE LOGS    the checks; exit status 77 where there is no Chromium or Selenium
html_browser.py --picture PAGE WIDTH HEIGHT dark|light FILE [SELECTOR]   a PNG of a page
"""
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("skipped: python3-selenium is not installed")
    sys.exit(77)


def browser(width=1280, height=900, dark=False):
    driver = shutil.which("chromedriver")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not driver or not program:
        print("skipped: chromium and chromedriver are not installed")
        sys.exit(77)
    options = Options()
    options.binary_location = program
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 "--disable-background-networking", "--force-color-profile=srgb", f"--window-size={width},{height}"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    b = webdriver.Chrome(service=Service(driver), options=options)
    b.set_script_timeout(60)
    # The window of a headless browser is not narrower than 500 pixels; the page may be.
    b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                      {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    b.execute_cdp_cmd("Emulation.setEmulatedMedia",
                      {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    return b


def wait(b, script, seconds=60):
    end = time.monotonic() + seconds
    while not b.execute_script(script):
        assert time.monotonic() < end, "waited in vain for: " + script
        time.sleep(0.05)


def open_page(b, path):
    b.get("file://" + os.path.abspath(path))
    wait(b, "return document.documentElement.dataset.ready !== undefined")
    assert b.execute_script("return document.documentElement.dataset.ready") == "yes", b.get_log("browser")


def picture(arguments):
    path, width, height, theme, out = arguments[:5]
    b = browser(int(width), int(height), theme == "dark")
    try:
        open_page(b, path)
        if len(arguments) > 5:
            b.execute_script("document.querySelector(arguments[0]).scrollIntoView({behavior: 'instant'})", arguments[5])
            time.sleep(0.3)
            b.save_screenshot(out)
            return
        full = b.execute_script("return document.documentElement.scrollHeight")
        b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                          {"width": int(width), "height": full, "deviceScaleFactor": 1, "mobile": int(width) < 600})
        time.sleep(0.5)
        b.save_screenshot(out)
    finally:
        b.quit()


def column(b, index):
    return b.execute_script(
        "return [...document.querySelectorAll('#kernels tbody tr')].map(r => r.cells[arguments[0]].textContent)", index)


def names(b):
    return column(b, 1)


def check_quiet(b, page):
    """No error on the console, and no request but for the page itself."""
    errors = [e["message"] for e in b.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    assert not errors, errors
    asked = []
    for entry in b.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    strange = [u for u in asked if not u.startswith("data:") and not u.startswith("chrome:") and u != page]
    assert page in asked and not strange, asked


def check_paint(b):
    """The page may have loaded before a busy machine has painted it."""
    paint = "return performance.getEntriesByType('paint').filter(e => e.name === 'first-contentful-paint')[0]?.startTime"
    wait(b, paint)
    print(f"first contentful paint after {b.execute_script(paint):.0f} ms")


def check_sorting(b):
    def click(name):
        button = b.find_element(By.CSS_SELECTOR, f'#kernels th[data-column="{name}"] button')
        b.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
        button.click()

    counts = lambda: [int(t.replace(",", "")) for t in column(b, 4)]
    click("instances")
    assert counts() == sorted(counts(), reverse=True) and len(set(counts())) > 1
    assert b.execute_script("return document.activeElement.parentNode.getAttribute('aria-sort')") == "descending"
    b.switch_to.active_element.send_keys(Keys.ENTER)
    assert counts() == sorted(counts())
    click("number")
    assert column(b, 0) == [str(i + 1) for i in range(len(column(b, 0)))]


def check_search(b):
    before = names(b)
    field = b.find_element(By.CSS_SELECTOR, "#kernels input[type=search]")
    field.send_keys("REDUCE kernel")
    found = names(b)
    assert 0 < len(found) < len(before) and set(found) < set(before)
    field.send_keys(" nothing has this")
    assert names(b) == []
    field.clear()
    field.send_keys(Keys.SPACE)
    assert names(b) == before


def check_detail(b):
    b.find_element(By.CSS_SELECTOR, "#kernels td.name button").send_keys(Keys.ENTER)
    wait(b, "return document.querySelectorAll('#kernels tr.detail canvas').length === 1")
    b.find_element(By.CSS_SELECTOR, "#kernels td.name button").send_keys(Keys.ENTER)
    assert not b.find_elements(By.CSS_SELECTOR, "#kernels tr.detail")


def check_zoom(b):
    chart = b.find_element(By.CSS_SELECTOR, "#timeline .chart")
    span = lambda: float(chart.get_attribute("data-to")) - float(chart.get_attribute("data-from"))
    b.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", chart)
    whole = span()
    chart.send_keys("+")
    wait(b, "return true")
    assert abs(span() - whole / 2) < whole * 1e-6, (span(), whole)
    chart.send_keys("0")
    assert span() == whole
    over = chart.find_element(By.CSS_SELECTOR, ".u-over")
    width = over.size["width"]
    webdriver.ActionChains(b).move_to_element_with_offset(over, -width // 4, 0).click_and_hold() \
        .move_by_offset(width // 4, 0).move_by_offset(width // 4, 0).release().perform()
    wait(b, f"const c = document.querySelector('#timeline .chart'); return c.dataset.to - c.dataset.from < {whole} * 0.7")
    b.find_element(By.CSS_SELECTOR, "#timeline button").click()
    assert span() == whole


def check_points(b):
    for section in ("scatter", "roofline"):
        charts = b.find_elements(By.CSS_SELECTOR, f"#{section} .chart")
        if charts:
            charts[0].send_keys(Keys.ARROW_RIGHT)
            assert charts[0].get_attribute("data-point")
            assert b.find_element(By.ID, "tip").is_displayed()


def check_theme(b):
    theme = "return document.documentElement.dataset.theme"
    assert b.execute_script(theme) == "light"
    b.execute_script("scrollTo(0, 0)")
    b.find_element(By.ID, "theme").click()
    assert b.execute_script(theme) == "dark"


# What is left of linear red, green and blue without one kind of cone (Machado, Oliveira and Fernandes 2009).
VISION = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(text):
    parts = [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def times(matrix, colour):
    return [min(1, max(0, sum(m * c for m, c in zip(row, colour)))) for row in matrix]


def lab(colour):
    x, y, z = times(((0.4339, 0.3762, 0.1899), (0.2127, 0.7152, 0.0722), (0.0178, 0.1095, 0.8730)), colour)
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def check_palette(b):
    """Series have a contrast of 3 to 1, and any two a distance of 12 (CIE 1976) whatever cones there are."""
    for _ in range(2):
        value = "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()"
        paper, *series = [linear(b.execute_script(value, "--" + name)) for name in ("paper", *(f"s{i}" for i in range(8)))]
        lights = [0.2126 * r + 0.7152 * g + 0.0722 * blue + 0.05 for r, g, blue in (paper, *series)]
        assert all(max(lights[0] / light, light / lights[0]) >= 3 for light in lights[1:]), lights
        for name, matrix in VISION.items():
            for one, two in itertools.combinations(range(8), 2):
                apart = math.dist(lab(times(matrix, series[one])), lab(times(matrix, series[two])))
                assert apart >= 12, (name, one, two, apart)
        b.find_element(By.ID, "theme").click()


def check_width(b):
    """At 375 pixels nothing but the tables' own boxes is wider than the window."""
    b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                      {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    wait(b, "return document.documentElement.scrollWidth <= 375")
    assert b.execute_script("return document.querySelector('#kernels tbody tr').offsetHeight") < 100


def check_profile(b, gpuwatch, folder):
    """A device profile beside another, one of them with a name that is markup."""
    path, other = os.path.join(folder, "profile.html"), os.path.join(folder, "other.json")
    with open(other, "w") as file:
        json.dump({"gpuwatch_profile": 1, "name": "</script><b onload=harmed>GPU", "aliases": [], "provenance": {"tool": "a test"},
                   "params": {"sm_count": {"value": 66, "unit": "1", "method": "vendor", "source": "a test"}}}, file)
    subprocess.run([gpuwatch, "calibrate", "--from=NVIDIA H200", "--against=" + other, "--html=" + path], check=True,
                   stdout=subprocess.DEVNULL)
    open_page(b, path)
    check_paint(b)
    assert b.execute_script("return window.harmed === undefined && !document.querySelector('img, b')")
    assert len(b.find_elements(By.CSS_SELECTOR, "#pictures .chart canvas")) >= 8
    rows = "return [...document.querySelectorAll('#values tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    assert ["sm_count", "132", "driver", "66", "vendor", "0.5×"] in b.execute_script(rows)
    b.find_element(By.CSS_SELECTOR, "#values input[type=search]").send_keys("sm_COUNT")
    assert [row[0] for row in b.execute_script(rows)] == ["sm_count"]
    chart = b.find_element(By.CSS_SELECTOR, "#roofline .chart")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert chart.get_attribute("data-point") and b.find_element(By.ID, "tip").is_displayed()
    b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    b.find_element(By.CSS_SELECTOR, "#values input[type=search]").send_keys(Keys.CONTROL, "a", Keys.DELETE)
    wait(b, "return document.querySelectorAll('#values tbody tr').length > 100")
    beside = "return Math.max(...[...document.querySelectorAll('#values tbody tr')].map(r => r.cells[1].getBoundingClientRect().right))"
    assert b.execute_script(beside) <= 375, "values are out of a narrow window"
    check_quiet(b, "file://" + path)


def check(gpuwatch, make_sample, logs):
    folder = tempfile.mkdtemp()
    try:
        b = browser()
        try:
            def page_of(name, log):
                path = os.path.join(folder, name + ".html")
                subprocess.run([gpuwatch, "report", "--html=" + path, log], check=True)
                open_page(b, path)
                return "file://" + path

            for sample in ("hostile", "markup", "clocked", "aggregates", "worked", "unpredicted"):
                log = os.path.join(folder, sample + ".gwl")
                subprocess.run([make_sample, sample, log], check=True)
                page = page_of(sample, log)
                assert b.execute_script("return window.harmed === undefined && !document.querySelector('img, b')")
                check_quiet(b, page)
                if sample == "markup":
                    assert any(n.startswith("</script><script>") for n in names(b)), names(b)
            page = page_of("train", os.path.join(logs, "train.gwl"))
            check_paint(b)
            for test in (check_sorting, check_search, check_detail, check_zoom, check_points, check_palette, check_theme, check_width):
                test(b)
                print(test.__name__, "passed")
            check_quiet(b, page)
        finally:
            b.quit()
        b = browser()
        try:
            check_profile(b, gpuwatch, folder)
            print("check_profile passed")
        finally:
            b.quit()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1] == "--picture":
        picture(sys.argv[2:])
    else:
        check(*sys.argv[1:4])
