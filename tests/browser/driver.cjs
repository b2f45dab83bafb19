/* One Chromium, told what to do by lines of JSON on stdin: {"op": NAME, ...}; each is answered by one line,
 * {"ok": VALUE} or {"error": TEXT}. Elements are found as people find them: by role and name, by label, by
 * their text. tests/support/browser.py speaks to it. */
const fs = require("fs");
const readline = require("readline");
const {chromium} = require("playwright-core");

const WAIT_MS = 15000;
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
              "--disable-background-networking", "--disable-component-update"];
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

let browser;
let context;
let page;
let noise;    // what the console said, and errors of the page
let asked;    // origins of all requests
let fakes;    // path: {status, body}, answered in the place of the gateway

function find({role, name, label, text, css, exact = false, nth = 0}) {
    const among = (root) => role ? root.getByRole(role, {name, exact}) : label
        ? root.getByLabel(label, {exact}) : text ? root.getByText(text, {exact}) : root.locator(css);
    return {all: among(page), one: among(page).nth(nth)};
}

function violations(result) {
    return result.violations.map((one) => ({id: one.id, help: one.help,
        where: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))}));
}

const OPS = {
    async open({url, scheme = "light", width = 1280, height = 860, faked = {}}) {
        await context?.close();
        context = await browser.newContext({colorScheme: scheme, viewport: {width, height},
                                            reducedMotion: "reduce"});
        page = await context.newPage();
        page.setDefaultTimeout(WAIT_MS);
        noise = [];
        asked = new Set();
        page.on("console", (message) => noise.push(`${message.type()}: ${message.text()}`));
        page.on("pageerror", (error) => noise.push(`error: ${error.message}`));
        page.on("request", (request) => asked.add(new URL(request.url()).origin));
        fakes = faked;
        if (Object.keys(fakes).length > 0)
            await page.route((address) => address.pathname in fakes, (route) => route.fulfill({
                status: 200, contentType: "text/plain",
                ...fakes[new URL(route.request().url()).pathname]}));
        await page.goto(url);
    },
    async fake({path, ...answer}) { // another answer, of a path that open was given
        fakes[path] = answer;
    },
    async call({module, name, args}) { // a function of the page's own files
        return page.evaluate(async ([from, what, given]) => (await import(from))[what](...given),
                             [module, name, args]);
    },
    async go({hash}) {
        await page.evaluate((to) => { location.hash = to; }, hash);
    },
    async reload() {
        await page.reload();
    },
    async click(what) {
        await find(what).one.click();
    },
    async fill(what) {
        await find(what).one.fill(what.value);
    },
    async choose(what) {
        await find(what).one.selectOption(what.value);
    },
    async check(what) {
        await find(what).one.check();
    },
    async press({key, times = 1}) {
        for (let i = 0; i < times; i++)
            await page.keyboard.press(key);
    },
    async type({value}) {
        await page.keyboard.type(value);
    },
    async text(what) {
        return find(what).one.innerText();
    },
    async texts(what) {
        return find(what).all.allInnerTexts();
    },
    async value(what) {
        return find(what).one.inputValue();
    },
    async count(what) {
        return find(what).all.count();
    },
    async wait(what) {
        await find(what).one.waitFor({state: what.gone ? "hidden" : "visible"});
    },
    async focus() { // what has the focus, in words
        return page.evaluate(() => {
            const own = document.activeElement;
            return {tag: own.tagName.toLowerCase(), inDialog: Boolean(own.closest("dialog")),
                    text: (own.getAttribute("aria-label") || own.innerText || own.name || "").trim()};
        });
    },
    async outline() { // can one see where the focus is?
        return page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    },
    async width() { // is anything wider than the window?
        return page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    },
    async colours({css}) { // "#rrggbb" of all that covers a pixel of a canvas whole
        return page.evaluate((of) => {
            const canvas = document.querySelector(of);
            const {width, height} = canvas;
            const own = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
            own.drawImage(canvas, 0, 0);
            const {data} = own.getImageData(0, 0, width, height);
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] === 255)
                    seen.add("#" + [...data.subarray(i, i + 3)]
                        .map((part) => part.toString(16).padStart(2, "0")).join(""));
            return [...seen];
        }, css);
    },
    async hash() {
        return page.evaluate(() => location.hash);
    },
    async title() {
        return page.title();
    },
    async axe() {
        await page.evaluate(AXE);
        return violations(await page.evaluate(() => axe.run({resultTypes: ["violations"]})));
    },
    async noise() {
        return {console: noise, origins: [...asked]};
    },
    async shot({path}) {
        await page.screenshot({path, fullPage: true});
    },
};

async function main() {
    browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ARGS});
    process.stdout.write(JSON.stringify({ok: browser.version()}) + "\n");
    for await (const line of readline.createInterface({input: process.stdin})) {
        const {op, ...what} = JSON.parse(line);
        try {
            process.stdout.write(JSON.stringify({ok: (await OPS[op](what)) ?? null}) + "\n");
        } catch (error) {
            process.stdout.write(JSON.stringify({error: `${op}: ${error.message}`}) + "\n");
        }
    }
    await browser.close();
}

main();
