// Walks through yore's page in a browser, as a job says, and tells what happened:
//
//     YORE_TEST_BROWSER=FOLDER node scripts/browser/walk.mjs JOB.json >RESULT.json
//
// `scripts/browser/fetch FOLDER` makes the folder. The browser is YORE_TEST_CHROMIUM, /usr/bin/chromium, or a Chromium or
// Chrome on the PATH. Nothing that the browser asks for leaves this computer: what is not of a loopback address goes to a
// proxy in here, which notes the host and refuses.
//
// The job:
//     enter         URL that opens a session, visited once; null for none. Every page gets its cookies
//     base          URL of the page's root. Paths are relative to it: "", "sessions", "?q=x"; a full URL stays as it is
//     out           folder for screenshots, or null
//     reference     folder with NAME.png of earlier screenshots, grey and a quarter as wide and high, or null
//     bless         true: the pictures of this walk become the reference
//     tolerance     share of pixels that may differ from the reference (0.02)
//     pages         [{name, path, width, height, scheme: "dark" or "light", script: is JavaScript on, steps, axe: run axe}]
//     cross_origin  paths of the base that pages of other origins try to read, with the session's cookies
//
// The steps, one key each. What looks for something tries for five seconds, and for one second after a step has failed:
//     {"press": "j"}  {"type": ["selector", "text"]}  {"click": "selector"}  {"goto": "path"}  {"scroll_to_end": true}
//     {"tab_until": "selector"}            presses Tab, at most 200 times, until the focused element matches
//     {"wait": "selector"}  {"wait_ms": 100}
//     {"see": "text"}  {"not_see": "text"} text of one place, by case; or the value of a field. Hidden text is not seen
//     {"focus_is": "selector"}  {"count": ["selector", 3]}
//     {"eval": ["js expression", json]}    evaluated again until it gives that value
//
// The result, on standard output:
//     browser, milliseconds
//     ended_early   why the walk was cut short, or null
//     enter         {status, url, cookies: [{name, path, httpOnly, sameSite, secure}]}, or null
//     left          [{during, host}]: hosts outside this computer that the browser wanted to talk to, except its maker's
//     pages         for each page
//         name, url (at the end), status
//         first_paint_ms, first_contentful_paint_ms, load_ms: in a tab that has just been opened, whose start they include
//         server_ms         from the request to the first byte of the answer
//         failures          [{step, what, error}]: steps that failed, by number from 0, and what else did not work (step null)
//         console_errors    [{text, at}]
//         page_errors       exceptions that nothing caught
//         csp               [{source: "event", "console" or "issue", directive, blocked, text}]: one violation may be told thrice
//         issues            [{code, text}]: what else DevTools would list under Issues
//         foreign_requests  [{url, type, failure}]: requests to other origins, refused ones included
//         dialogs           [{type, text}]
//         popups, downloads URLs
//         scrolls_sideways  is the document wider than the window?
//         sticking_out      at most five elements that reach over the window's edge, as selectors
//         heap_mb, nodes    after the steps and a garbage collection
//         screenshot        path, or null
//         reference         {share, within}: pixels that differ, 1 if there is no reference; null if none was asked for
//         axe               {violations: [{id, impact, help, count, nodes: [target]}], incomplete: [{id, count}]}, or null
//     cross_origin  [{url, from: "same-site" or "cross-site", checks: [{kind, read, status, cookie, detail}]}]
//         same-site is another port of 127.0.0.1, to which SameSite cookies go; cross-site is localhost.
//         read: could the other page learn anything? status: what it was answered. cookie: did the session's cookie go along?
// A list has at most 50 entries, and a text at most 500 characters. `script: false` holds for the page, not for its popups.
// axe and the screenshot come last, and what they cause is not noted: the policy stays in force for them.
//
// A walk ends within five minutes: pages that it has not come to by then are not in the result.
// Exits with 0 if the walk ran, whatever it found; 2 if there is no browser; 1 if it could not run or ran out of time.

import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

/** For the walk. It must end within five minutes; closing takes some seconds. */
const WALK_MS = 280_000;
const PAGE_MS = 60_000;
const LOAD_MS = 20_000;
const STEP_MS = 5_000;
/** For a step after one that failed: what follows fails too, mostly. */
const HASTY_MS = 1_000;
const AXE_MS = 30_000;
const CHECK_MS = 4_000;
/** Other origins' attempts at once: more of them starve each other where the processor is shared. */
const CHECKS_AT_ONCE = 4;
const CLOSE_MS = 5_000;
const MOST_TABS = 200;
const MOST = 50;
const LONGEST = 500;

const started = Date.now();
const result = { browser: null, milliseconds: 0, ended_early: null, enter: null, left: [], pages: [], cross_origin: [] };
let browser = null;
/** What is going on, for the proxy's notes. */
let during = 'start';

// ---- Small tools

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const cut = (text) => {
    const said = String(text);
    return said.length > LONGEST ? `${said.slice(0, LONGEST)}… (${said.length} characters)` : said;
};
const note = (list, entry) => list.length < MOST && list.push(entry);
const rounded = (number) => (Number.isFinite(number) ? Math.round(number * 10) / 10 : null);
/** What an error says, without Playwright's log of the call and the stack in the page. */
const reason = (error) => cut(String(error?.message ?? error).split(/\nCall log:|\nRequire stack:|\n +at /)[0].trim());

function stop(code, text) {
    process.stderr.write(`walk: ${text}\n`);
    process.exit(code);
}

/** Gives what the promise gives, or fails when the time is over. */
async function within(ms, promise, what) {
    let timer;
    promise.catch(() => {});
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what}: not done in ${ms} ms`)), ms);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Tests again and again until the test gives null; otherwise it gives what is wrong. */
async function until(ms, test) {
    const end = Date.now() + ms;
    for (;;) {
        let wrong;
        try {
            wrong = await within(Math.max(end - Date.now(), 200), test(), 'the page does not answer');
        } catch (error) {
            // A page that is being left has no place to evaluate in.
            wrong = reason(error);
        }
        if (wrong === null) return;
        if (Date.now() >= end) throw new Error(wrong);
        await pause(50);
    }
}

// ---- What it needs

function findBrowser() {
    const isProgram = (file) => {
        try {
            fs.accessSync(file, fs.constants.X_OK);
            return fs.statSync(file).isFile();
        } catch {
            return false;
        }
    };
    const onPath = (name) =>
        name.includes(path.sep)
            ? [name]
            : (process.env.PATH ?? '').split(path.delimiter).filter(Boolean).map((folder) => path.join(folder, name));
    const asked = process.env.YORE_TEST_CHROMIUM;
    if (asked) {
        const found = onPath(asked).find(isProgram);
        return found ?? stop(2, `YORE_TEST_CHROMIUM is no program: ${asked}`);
    }
    const usual = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].flatMap(onPath);
    const found = ['/usr/bin/chromium', ...usual].find(isProgram);
    return found ?? stop(2, 'there is no Chromium: install it, or set YORE_TEST_CHROMIUM');
}

async function findPackages() {
    const folder = process.env.YORE_TEST_BROWSER;
    if (!folder) stop(1, 'YORE_TEST_BROWSER names no folder (scripts/browser/fetch FOLDER makes one)');
    try {
        const require = createRequire(path.join(path.resolve(folder), 'walk.js'));
        return {
            chromium: require('playwright-core').chromium,
            axe: require('axe-core').source,
            PNG: require('pngjs').PNG,
            pixelmatch: (await import(pathToFileURL(require.resolve('pixelmatch')))).default,
        };
    } catch (error) {
        return stop(1, `${folder} was not made by scripts/browser/fetch: ${reason(error)}`);
    }
}

function readJob() {
    const file = process.argv[2];
    if (!file || process.argv.length > 3) stop(1, 'usage: node walk.mjs JOB.json');
    try {
        const job = JSON.parse(fs.readFileSync(file, 'utf8'));
        const names = new Set();
        new URL(job.base);
        job.pages ??= [];
        job.cross_origin ??= [];
        for (const page of job.pages) {
            if (!/^[\w.-]+$/.test(page.name ?? '') || names.has(page.name)) throw new Error(`bad name of a page: ${page.name}`);
            if (!(page.width > 0 && page.height > 0)) throw new Error(`${page.name} has no size`);
            names.add(page.name);
        }
        return job;
    } catch (error) {
        return stop(1, `${file}: ${reason(error)}`);
    }
}

/** Gives the full URL of a path of the page. */
function place(job, said = '') {
    if (/^[a-z]+:/i.test(said)) return said;
    const root = job.base.replace(/\/+$/, '');
    if (said === '') return job.base;
    return /^[/?#]/.test(said) ? root + said : `${root}/${said}`;
}

/** A server on a free port of 127.0.0.1. */
async function serve(answer) {
    const server = http.createServer(answer);
    await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    // Whatever is still open must not keep the walk from ending.
    server.unref();
    return server;
}

/** Where Chromium itself calls, whatever it shows. What a page wants from there is among its `foreign_requests`. */
const MAKER = new RegExp(
    [
        /^(www|accounts|clients\d*|mtalk|android(\.clients)?|update|safebrowsing)\.google\.com(:\d+)?$/,
        /^(content-autofill|update|optimizationguide-pa|safebrowsing)\.googleapis\.com(:\d+)?$/,
        /^(redirector|edgedl\.me)\.gvt1\.com(:\d+)?$/,
    ].map(({ source }) => source).join('|'),
);

/** The proxy that notes what wants to leave this computer, and refuses it. */
async function guard() {
    const refuse = (host) => MAKER.test(host) || note(result.left, { during, host: cut(host) });
    const server = await serve((request, response) => {
        refuse(request.url.startsWith('http') ? new URL(request.url).host : request.url);
        response.writeHead(403).end();
    });
    server.on('connect', (request, socket) => {
        refuse(request.url);
        socket.on('error', () => {});
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    server.on('upgrade', (request, socket) => {
        refuse(request.url);
        socket.destroy();
    });
    return server.address().port;
}

// ---- What runs in the page

/** Looks at the page. Runs there, so it has everything it needs in itself. */
function look([what, argument]) {
    const selector = (element) => {
        const parts = [];
        for (let at = element; at && at.nodeType === 1 && parts.length < 4; at = at.parentElement) {
            const name = at.localName;
            if (at.getAttribute('id')) {
                parts.unshift(`${name}#${at.getAttribute('id').slice(0, 40)}`);
                break;
            }
            const alike = at.parentElement ? [...at.parentElement.children].filter((other) => other.localName === name) : [];
            const classes = [...at.classList].slice(0, 2).map((one) => `.${one.slice(0, 40)}`).join('');
            parts.unshift(name + classes + (alike.length > 1 ? `:nth-of-type(${alike.indexOf(at) + 1})` : ''));
        }
        return parts.join(' > ');
    };
    const isShown = (element) => {
        if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
        // Text for screen readers only is clipped to a dot.
        for (let at = element, up = 0; at && up < 4; at = at.parentElement, up += 1) {
            const box = at.getBoundingClientRect();
            if (box.width <= 1 || box.height <= 1) {
                const style = getComputedStyle(at);
                if (style.overflowX !== 'visible' || style.overflowY !== 'visible') return false;
            }
        }
        return true;
    };
    const even = (text) => text.replace(/\s+/g, ' ').trim();

    if (what === 'sees') {
        const wanted = even(argument);
        const seen = [];
        const known = new Map();
        const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
        const range = document.createRange();
        while (walker.nextNode()) {
            const text = walker.currentNode;
            const parent = text.parentElement;
            if (!parent || !text.data) continue;
            if (!known.has(parent)) known.set(parent, isShown(parent));
            if (!known.get(parent)) continue;
            range.selectNodeContents(text);
            if (text.data.trim() === '' || range.getClientRects().length > 0) seen.push(text.data);
        }
        for (const field of document.querySelectorAll('input, textarea, select')) {
            if (field.type === 'hidden' || field.type === 'password' || !isShown(field)) continue;
            if (field.localName === 'select') seen.push(...[...field.selectedOptions].map((option) => ` ${option.label} `));
            else seen.push(` ${field.value || field.placeholder || ''} `);
        }
        // Parts of one line stand next to each other; parts of two blocks have a space between them.
        return even(seen.join('')).includes(wanted) || even(seen.join(' ')).includes(wanted);
    }
    if (what === 'focus') {
        const focused = document.activeElement;
        return { is: Boolean(focused?.matches(argument)), what: focused ? selector(focused) : 'nothing' };
    }
    if (what === 'end') {
        // The document, or else the largest part that scrolls.
        const canScroll = (element) => element.scrollHeight > element.clientHeight + 1;
        let scroller = document.scrollingElement;
        if (!canScroll(scroller)) {
            const size = (element) => element.clientWidth * element.clientHeight;
            for (const element of document.querySelectorAll('body *')) {
                if (!canScroll(element) || !/auto|scroll/.test(getComputedStyle(element).overflowY)) continue;
                if (!canScroll(scroller) || size(element) > size(scroller)) scroller = element;
            }
        }
        scroller.scrollTo({ top: scroller.scrollHeight, behavior: 'instant' });
        return scroller.scrollHeight;
    }
    if (what === 'times') {
        const [navigation] = performance.getEntriesByType('navigation');
        const paint = (name) => performance.getEntriesByName(name, 'paint')[0]?.startTime ?? null;
        return {
            first_paint_ms: paint('first-paint'),
            first_contentful_paint_ms: paint('first-contentful-paint'),
            server_ms: navigation ? navigation.responseStart - navigation.requestStart : null,
            load_ms: navigation && navigation.loadEventEnd > 0 ? navigation.loadEventEnd : null,
        };
    }
    if (what === 'layout') {
        const width = innerWidth;
        const clipped = new Map();
        const out = [];
        for (const element of document.body?.querySelectorAll('*') ?? []) {
            const parent = element.parentElement;
            const style = getComputedStyle(element);
            const isIn = clipped.get(parent) ?? false;
            // An ancestor that clips or scrolls answers for its content.
            clipped.set(element, isIn || style.overflowX !== 'visible');
            if (isIn || !element.checkVisibility({ visibilityProperty: true })) continue;
            const box = element.getBoundingClientRect();
            if (box.width === 0 || box.height === 0) continue;
            let right = box.right;
            if (style.overflowX === 'visible' && element.scrollWidth > element.clientWidth && element.clientWidth > 0) {
                right = Math.max(right, box.left + element.clientLeft + element.scrollWidth);
            }
            // An element wholly to the left is hidden on purpose, and nobody can scroll there.
            if (right > width + 1 || (box.left < -1 && box.right > 1)) out.push(element);
        }
        const holders = new Set();
        for (const element of out) {
            for (let at = element.parentElement; at && !holders.has(at); at = at.parentElement) holders.add(at);
        }
        return {
            scrolls_sideways: document.documentElement.scrollWidth > width,
            sticking_out: out.filter((element) => !holders.has(element)).slice(0, 5).map(selector),
        };
    }
    throw new Error(`look: ${what}`);
}

/** Tells violations of the policy to the console, which outlives the document. Runs before the page's scripts. */
function tellViolations(mark) {
    const say = console.debug.bind(console);
    const write = JSON.stringify;
    const tell = (event) => {
        const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample, disposition } = event;
        const text = `${disposition}: ${effectiveDirective} blocks ${blockedURI} (${sourceFile}:${lineNumber}) ${sample}`;
        say(mark + write({ directive: effectiveDirective, blocked: blockedURI, text }));
    };
    addEventListener('securitypolicyviolation', tell, true);
}

/** Looks at a page that may be on its way to the next. */
async function ask(page, question) {
    for (let left = 3; ; left -= 1) {
        try {
            return await page.evaluate(look, question);
        } catch (error) {
            if (left === 0 || !/context was destroyed|Cannot find context/i.test(String(error?.message))) throw error;
            await page.waitForLoadState('load', { timeout: STEP_MS }).catch(() => {});
        }
    }
}

// ---- A page

const STEPS = {
    async press({ page, ms }, key) {
        await within(ms, page.keyboard.press(key), 'press');
    },
    async type({ page, ms }, [selector, text]) {
        await page.locator(selector).first().pressSequentially(text, { timeout: ms });
    },
    async click({ page, ms }, selector) {
        try {
            await page.locator(selector).first().click({ timeout: ms });
        } catch (error) {
            // Clicked, but the page that the click leads to does not come: forbidden by the policy, for example.
            if (!String(error?.message).includes('click action done')) throw error;
        }
    },
    async wait({ page, ms }, selector) {
        await page.locator(selector).first().waitFor({ state: 'visible', timeout: ms });
    },
    async wait_ms(_, ms) {
        await pause(Math.min(ms, 10_000));
    },
    async see({ page, ms }, text) {
        await until(ms, async () => ((await page.evaluate(look, ['sees', text])) ? null : 'the text is not visible'));
    },
    async not_see({ page, ms }, text) {
        await until(ms, async () => ((await page.evaluate(look, ['sees', text])) ? 'the text is visible' : null));
    },
    async focus_is({ page, ms }, selector) {
        await until(ms, async () => {
            const focus = await page.evaluate(look, ['focus', selector]);
            return focus.is ? null : `the focus is on ${focus.what}`;
        });
    },
    async count({ page, ms }, [selector, number]) {
        await until(ms, async () => {
            const found = await page.locator(selector).count();
            return found === number ? null : `there are ${found}`;
        });
    },
    async eval({ page, ms }, [expression, wanted]) {
        await until(ms, async () => {
            const value = JSON.parse(JSON.stringify((await page.evaluate(expression)) ?? null));
            return isDeepStrictEqual(value, wanted) ? null : `it is ${cut(JSON.stringify(value))}`;
        });
    },
    async goto({ page, job }, said) {
        const response = await page.goto(place(job, said), { waitUntil: 'load', timeout: LOAD_MS });
        if (response && response.status() >= 400) throw new Error(`answered with ${response.status()}`);
    },
    async tab_until({ page }, selector) {
        const focused = async () => within(STEP_MS, ask(page, ['focus', selector]), 'focus');
        let focus = await focused();
        const visited = [];
        for (let count = 0; !focus.is; count += 1) {
            if (count === MOST_TABS) throw new Error(`not among ${[...new Set(visited)].join(', ')}`);
            await within(STEP_MS, page.keyboard.press('Tab'), 'press');
            focus = await focused();
            visited.push(focus.what);
        }
    },
    async scroll_to_end({ page, ms }) {
        // The end is where nothing was added for a while.
        const end = Date.now() + ms;
        let height = -1;
        for (let calm = 0; calm < 3 && Date.now() < end; ) {
            const now = await within(ms, ask(page, ['end']), 'scroll');
            calm = now === height ? calm + 1 : 0;
            height = now;
            await pause(100);
        }
    },
};

/** Waits until no request was under way for a while; streams of events do not count. */
async function quiet(underWay) {
    const end = Date.now() + 2_000;
    for (let since = Date.now(); Date.now() < end && Date.now() - since < 150; await pause(25)) {
        if (underWay.size > 0) since = Date.now();
    }
}

/** Notes what happens in the browser context. Gives what is under way, and a function that ends the notes. */
async function listen(context, page, cdp, job, found) {
    const mark = `walk-${randomBytes(12).toString('hex')} `;
    const origin = new URL(job.base).origin;
    const underWay = new Set();
    const noted = new Map();
    let isOver = false;
    const on = (event, hear) => context.on(event, (thing) => !isOver && hear(thing));

    await context.addInitScript(tellViolations, mark);
    on('console', (message) => {
        const text = message.text();
        if (text.startsWith(mark)) {
            const told = JSON.parse(text.slice(mark.length));
            const { directive, blocked } = told;
            note(found.csp, { source: 'event', directive, blocked: cut(blocked), text: cut(told.text) });
        } else if (/Content.Security.Policy/i.test(text)) {
            note(found.csp, { source: 'console', directive: null, blocked: null, text: cut(text) });
        } else if (message.type() === 'error') {
            const { url, lineNumber } = message.location();
            note(found.console_errors, { text: cut(text), at: cut(`${url}:${lineNumber + 1}`) });
        }
    });
    on('weberror', (error) => note(found.page_errors, cut(error.error()?.stack || error.error()?.message || error.error())));
    on('dialog', (dialog) => note(found.dialogs, { type: dialog.type(), text: cut(dialog.message()) }));
    // It must not stay open, noted or not.
    context.on('dialog', (dialog) => (dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss()).catch(() => {}));
    on('page', (popup) => popup !== page && note(found.popups, cut(popup.url())));
    on('request', (request) => {
        if (!['eventsource', 'websocket'].includes(request.resourceType())) underWay.add(request);
        if (new URL(request.url()).origin !== origin) {
            const entry = { url: cut(request.url()), type: request.resourceType(), failure: null };
            noted.set(request, entry);
            note(found.foreign_requests, entry);
        }
    });
    on('requestfinished', (request) => underWay.delete(request));
    on('requestfailed', (request) => {
        underWay.delete(request);
        if (noted.has(request)) noted.get(request).failure = request.failure()?.errorText ?? 'failed';
    });
    page.on('websocket', (socket) => {
        if (!isOver && new URL(socket.url()).host !== new URL(job.base).host) {
            note(found.foreign_requests, { url: cut(socket.url()), type: 'websocket', failure: null });
        }
    });
    page.on('download', (download) => !isOver && note(found.downloads, cut(download.url())));
    page.on('crash', () => note(found.failures, { step: null, what: 'page', error: 'the page crashed' }));

    cdp.on('Audits.issueAdded', ({ issue }) => {
        if (isOver) return;
        const csp = issue.details.contentSecurityPolicyIssueDetails;
        if (csp) {
            const text = `${csp.contentSecurityPolicyViolationType}${csp.isReportOnly ? ', report only' : ''}`;
            note(found.csp, { source: 'issue', directive: csp.violatedDirective, blocked: cut(csp.blockedURL ?? ''), text });
        } else {
            note(found.issues, { code: issue.code, text: cut(JSON.stringify(Object.values(issue.details)[0] ?? null)) });
        }
    });
    await cdp.send('Audits.enable');
    const end = () => {
        isOver = true;
    };
    return { underWay, end };
}

async function walkPage(context, wanted, found, job, packages) {
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    const { underWay, end } = await listen(context, page, cdp, job, found);
    // Not by the context's own switch: that one stays, and axe needs timers.
    const isScripted = wanted.script !== false;
    if (!isScripted) await cdp.send('Emulation.setScriptExecutionDisabled', { value: true });
    const attempt = async (what, ms, act) => {
        try {
            return await within(ms, act(), what);
        } catch (error) {
            note(found.failures, { step: null, what, error: reason(error) });
            return null;
        }
    };

    // Known even if the answer is one that the browser shows a page of its own for, such as an error without a body.
    const hearStatus = (response) => {
        if (response.request().isNavigationRequest() && response.frame() === page.mainFrame()) found.status = response.status();
    };
    page.on('response', hearStatus);
    await attempt('load', LOAD_MS + 1_000, () => page.goto(place(job, wanted.path), { waitUntil: 'load', timeout: LOAD_MS }));
    page.off('response', hearStatus);
    await attempt('times', STEP_MS, async () => {
        const last = Date.now() + 2_000;
        for (;;) {
            const times = await ask(page, ['times']);
            for (const [name, value] of Object.entries(times)) found[name] = rounded(value ?? NaN);
            if (times.first_paint_ms !== null && times.load_ms !== null) return;
            if (Date.now() > last) return;
            await pause(25);
        }
    });

    let ms = STEP_MS;
    for (const [index, step] of (wanted.steps ?? []).entries()) {
        const [key, argument] = Object.entries(step)[0] ?? [];
        try {
            if (!Object.hasOwn(STEPS, key) || Object.keys(step).length !== 1) throw new Error('there is no such step');
            await within(LOAD_MS + 1_000, STEPS[key]({ page, job, ms }, argument), 'step');
        } catch (error) {
            note(found.failures, { step: index, what: cut(JSON.stringify(step)), error: reason(error) });
            ms = HASTY_MS;
            // Nothing more is to be had from a page that hangs or has crashed.
            await within(STEP_MS, ask(page, ['focus', 'body']), 'the page does not answer any more');
        }
    }

    await page.waitForLoadState('load', { timeout: STEP_MS }).catch(() => {});
    await quiet(underWay);
    Object.assign(found, await attempt('layout', STEP_MS, () => ask(page, ['layout'])));
    await attempt('heap', STEP_MS, async () => {
        await cdp.send('HeapProfiler.collectGarbage');
        await cdp.send('Performance.enable');
        const { metrics } = await cdp.send('Performance.getMetrics');
        const metric = (name) => metrics.find((one) => one.name === name)?.value ?? NaN;
        found.heap_mb = rounded(metric('JSHeapUsedSize') / 1e6);
        found.nodes = metric('Nodes');
    });
    found.url = page.url();
    // Later events are our own doing.
    end();

    if (job.out) {
        await attempt('screenshot', 3 * STEP_MS, async () => {
            const file = path.join(job.out, `${wanted.name}.png`);
            await page.screenshot({ path: file, animations: 'disabled', timeout: 2 * STEP_MS });
            found.screenshot = file;
        });
    }
    if (job.reference) {
        await attempt('reference', 3 * STEP_MS, async () => {
            const now = reduced(packages, await page.screenshot({ animations: 'disabled', caret: 'hide', timeout: 2 * STEP_MS }));
            const file = path.join(job.reference, `${wanted.name}.png`);
            if (job.bless) fs.writeFileSync(file, now);
            const share = fs.existsSync(file) ? difference(packages, fs.readFileSync(file), now) : 1;
            found.reference = { share: Number(share.toFixed(4)), within: share <= (job.tolerance ?? 0.02) };
        });
    }
    if (wanted.axe) {
        // Evaluated by the debugger, to which the page's policy does not apply, in the state that the steps left.
        await attempt('axe', AXE_MS, async () => {
            if (!isScripted) await cdp.send('Emulation.setScriptExecutionDisabled', { value: false });
            await page.evaluate(`${packages.axe};0`);
            const told = await page.evaluate(() => globalThis.axe.run(document, { rules: { 'target-size': { enabled: true } } }));
            found.axe = {
                violations: told.violations.map(({ id, impact, help, nodes }) => {
                    const targets = nodes.slice(0, 10).map((node) => cut(node.target.flat().join(' ')));
                    return { id, impact, help, count: nodes.length, nodes: targets };
                }),
                incomplete: told.incomplete.map(({ id, nodes }) => ({ id, count: nodes.length })),
            };
        });
    }
}

/** Times a picture of reference is less wide and high: so small, a font's other edges and a moved pixel make no difference. */
const REDUCED = 4;

/** The picture in grey, reduced: each pixel is the mean of those in its place. */
function reduced({ PNG }, bytes) {
    const full = PNG.sync.read(bytes);
    const [width, height] = [Math.floor(full.width / REDUCED), Math.floor(full.height / REDUCED)];
    const small = new PNG({ width, height });
    for (let y = 0; y < height; y += 1) {
        for (let x = 0; x < width; x += 1) {
            let sum = 0;
            for (let dy = 0; dy < REDUCED; dy += 1) {
                for (let dx = 0; dx < REDUCED; dx += 1) {
                    const at = ((y * REDUCED + dy) * full.width + x * REDUCED + dx) * 4;
                    sum += full.data[at] + full.data[at + 1] + full.data[at + 2];
                }
            }
            small.data.fill(Math.round(sum / 3 / REDUCED ** 2), (y * width + x) * 4, (y * width + x) * 4 + 3);
            small.data[(y * width + x) * 4 + 3] = 255;
        }
    }
    return PNG.sync.write(small, { colorType: 0 });
}

/** Share of the pixels that differ. */
function difference({ PNG, pixelmatch }, before, now) {
    const [one, two] = [PNG.sync.read(before), PNG.sync.read(now)];
    if (one.width !== two.width || one.height !== two.height) return 1;
    const differing = pixelmatch(one.data, two.data, null, one.width, one.height, { threshold: 0.1 });
    return differing / (one.width * one.height);
}

async function walkPages(job, cookies, packages) {
    for (const wanted of job.pages) {
        during = wanted.name;
        const found = {
            name: wanted.name, url: null, status: null,
            first_paint_ms: null, first_contentful_paint_ms: null, server_ms: null, load_ms: null,
            failures: [], console_errors: [], page_errors: [], csp: [], issues: [], foreign_requests: [],
            dialogs: [], popups: [], downloads: [], scrolls_sideways: null, sticking_out: [],
            heap_mb: null, nodes: null, screenshot: null, reference: null, axe: null,
        };
        result.pages.push(found);
        const context = await within(STEP_MS, browser.newContext({
            viewport: { width: wanted.width, height: wanted.height },
            colorScheme: wanted.scheme ?? 'light',
            locale: 'en-US',
            timezoneId: 'UTC',
        }), 'context');
        try {
            await context.addCookies(cookies);
            await within(PAGE_MS, walkPage(context, wanted, found, job, packages), 'page');
        } catch (error) {
            note(found.failures, { step: null, what: 'page', error: reason(error) });
        }
        // A page that hangs does not close; the browser's end ends it.
        await within(CLOSE_MS, context.close(), 'close').catch(() => {});
    }
}

// ---- Pages of other origins

/** What a page of another origin tries. Each runs there, and gives what it could read, or null, and a detail. */
const TRIALS = {
    fetch: async (url) => {
        const response = await fetch(url, { credentials: 'include' });
        return [await response.text(), `status ${response.status}`];
    },
    fetch_no_cors: async (url) => {
        const response = await fetch(url, { credentials: 'include', mode: 'no-cors' });
        return [(await response.text()) || null, response.type];
    },
    fetch_post: async (url) => {
        const response = await fetch(url, { method: 'POST', credentials: 'include', body: '{"walk":1}' });
        return [await response.text(), `status ${response.status}`];
    },
    fetch_header: async (url) => {
        const headers = { 'content-type': 'application/json', 'x-walk': '1' };
        const response = await fetch(url, { method: 'POST', credentials: 'include', headers, body: '{"walk":1}' });
        return [await response.text(), `status ${response.status}`];
    },
    events: (url) =>
        new Promise((resolve) => {
            const stream = new EventSource(url, { withCredentials: true });
            stream.onopen = () => resolve(['opened', null]);
            stream.onmessage = (event) => resolve([event.data, null]);
            stream.onerror = () => resolve([null, 'refused']);
        }),
    image: (url) =>
        new Promise((resolve) => {
            const image = new Image();
            image.onload = () => resolve([`${image.naturalWidth} x ${image.naturalHeight}`, null]);
            image.onerror = () => resolve([null, 'refused']);
            image.src = url;
        }),
    script: (url) =>
        new Promise((resolve) => {
            const script = document.createElement('script');
            addEventListener('error', (event) => event.message && resolve([`ran: ${event.message}`, null]));
            script.onload = () => resolve(['loaded', null]);
            script.onerror = () => resolve([null, 'refused']);
            script.src = url;
            document.body.append(script);
        }),
    style: (url) =>
        new Promise((resolve) => {
            const link = document.createElement('link');
            link.onload = () => resolve(['loaded', null]);
            link.onerror = () => resolve([null, 'refused']);
            link.rel = 'stylesheet';
            link.href = url;
            document.head.append(link);
        }),
    iframe: (url) =>
        new Promise((resolve) => {
            const frame = document.createElement('iframe');
            frame.onload = () => {
                let read = null;
                try {
                    read = frame.contentDocument.documentElement.outerHTML;
                } catch {
                    // As it should be.
                }
                const frames = frame.contentWindow.length;
                resolve([read ?? (frames > 0 ? `${frames} frames` : null), 'loaded']);
            };
            frame.src = url;
            document.body.append(frame);
        }),
    window_open: async (url) => {
        const opened = open(url);
        if (!opened) return [null, 'blocked'];
        let read = null;
        for (let count = 0; count < 20 && !opened.closed && read === null; count += 1) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            try {
                // Until the answer is there, it is the empty page of the opener's own origin.
                if (opened.location.href !== 'about:blank') read = opened.document.documentElement.outerHTML;
            } catch {
                // As it should be: it is there, and out of reach. Whether it is cut off is known a little later.
                await new Promise((resolve) => setTimeout(resolve, 300));
                break;
            }
        }
        const frames = opened.closed ? 0 : opened.length;
        const detail = opened.closed ? 'cut off from its opener' : 'kept by its opener';
        return [read ?? (frames > 0 ? `${frames} frames` : null), detail];
    },
};
const FORMS = { form_post: 'application/x-www-form-urlencoded', form_post_text: 'text/plain' };

async function tryOne(context, kind, url, home) {
    const check = { kind, read: false, status: null, cookie: null, detail: null };
    const page = await context.newPage();
    const isIt = (asked) => asked.split('#')[0] === url.split('#')[0];
    await page.goto(home, { timeout: LOAD_MS });
    // Requests of windows and frames that have a process of their own.
    const requests = [];
    context.on('request', (request) => isIt(request.url()) && requests.push(request));
    // Requests of the page, with the status of what the browser keeps from it.
    const cdp = await context.newCDPSession(page);
    const [ids, cookies, statuses] = [new Set(), new Map(), new Map()];
    cdp.on('Network.requestWillBeSent', ({ requestId, request }) => isIt(request.url) && ids.add(requestId));
    cdp.on('Network.requestWillBeSentExtraInfo', ({ requestId, associatedCookies }) =>
        cookies.set(requestId, associatedCookies.some(({ blockedReasons }) => blockedReasons.length === 0)));
    cdp.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => statuses.set(requestId, statusCode));
    await cdp.send('Network.enable');
    try {
        if (kind in FORMS) {
            const landed = page.waitForResponse((response) => isIt(response.url()), { timeout: CHECK_MS });
            await page.evaluate(([action, enctype]) => {
                const form = document.createElement('form');
                Object.assign(form, { method: 'post', action, enctype });
                const field = document.createElement('input');
                Object.assign(field, { name: '{"walk":"', value: '"}' });
                form.append(field);
                document.body.append(form);
                form.submit();
            }, [url, FORMS[kind]]);
            check.status = (await landed).status();
        } else {
            const [read, detail] = await within(CHECK_MS, page.evaluate(TRIALS[kind], url), kind);
            check.read = read !== null;
            check.detail = cut([read, detail].filter((part) => part !== null).join('; '));
        }
    } catch (error) {
        check.detail = reason(error);
    }
    if (kind === 'iframe') {
        const isShown = page.frames().some((frame) => isIt(frame.url()));
        check.detail = `${check.detail}; ${isShown ? 'shown' : 'not shown'}`;
    }
    // News about requests comes later than what the page hears.
    for (let left = 20; left > 0 && ![...ids].some((id) => statuses.has(id)); left -= 1) await pause(50);
    for (const id of ids) {
        if (cookies.has(id)) check.cookie = check.cookie || cookies.get(id);
        if (statuses.has(id)) check.status = statuses.get(id);
    }
    for (const request of requests) {
        const response = await within(500, request.response(), 'response').catch(() => null);
        if (!response) continue;
        check.status ??= response.status();
        const headers = await within(500, request.allHeaders(), 'headers').catch(() => null);
        if (headers) check.cookie = check.cookie || 'cookie' in headers;
    }
    return check;
}

async function tryOthers(job, cookies) {
    if (job.cross_origin.length === 0) return;
    const server = await serve((request, response) => {
        response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html' });
        response.end('<!doctype html><html lang="en"><head><title>Elsewhere</title></head><body>Elsewhere</body></html>');
    });
    const { port } = server.address();
    const homes = [['same-site', `http://127.0.0.1:${port}/`], ['cross-site', `http://localhost:${port}/`]];
    for (const [from, home] of homes) {
        for (const said of job.cross_origin) {
            const url = place(job, said);
            during = `${from} ${url}`;
            const entry = { url, from, checks: [] };
            result.cross_origin.push(entry);
            const kinds = [...Object.keys(TRIALS), ...Object.keys(FORMS)];
            const tryInTurn = async () => {
                for (let kind = kinds.shift(); kind; kind = kinds.shift()) {
                    // A context each: they share neither cache nor listeners, and may run at the same time.
                    const context = await browser.newContext({ locale: 'en-US' });
                    try {
                        await context.addCookies(cookies);
                        entry.checks.push(await within(LOAD_MS + 4 * CHECK_MS, tryOne(context, kind, url, home), kind));
                    } catch (error) {
                        entry.checks.push({ kind, read: null, status: null, cookie: null, detail: reason(error) });
                    } finally {
                        await within(CLOSE_MS, context.close(), 'close').catch(() => {});
                    }
                }
            };
            await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, tryInTurn));
            entry.checks.sort((one, two) => (one.kind < two.kind ? -1 : 1));
        }
    }
}

// ---- The walk

async function enter(job) {
    if (!job.enter) return [];
    during = 'enter';
    const context = await browser.newContext();
    const page = await context.newPage();
    let status = null;
    page.on('response', (response) => {
        if (response.request().isNavigationRequest()) status = response.status();
    });
    await page.goto(job.enter, { waitUntil: 'load', timeout: LOAD_MS }).catch((error) => {
        if (status === null) throw error;
    });
    const cookies = await context.cookies();
    result.enter = {
        status,
        url: page.url(),
        cookies: cookies.map(({ name, path, httpOnly, sameSite, secure }) => ({ name, path, httpOnly, sameSite, secure })),
    };
    await within(CLOSE_MS, context.close(), 'close').catch(() => {});
    return cookies;
}

async function launch(packages, program, temporary) {
    const port = await guard();
    const env = { ...process.env, HOME: temporary, TMPDIR: temporary };
    for (const name of Object.keys(env)) {
        if (/^(XDG_|CHROMIUM_|DBUS_)|_proxy$/i.test(name)) delete env[name];
    }
    return packages.chromium.launch({
        executablePath: program,
        headless: true,
        chromiumSandbox: false,
        timeout: 30_000,
        env,
        args: [
            '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
            '--disable-component-update', '--disable-sync', '--disable-domain-reliability',
            '--force-webrtc-ip-handling-policy=disable_non_proxied_udp', `--proxy-server=http://127.0.0.1:${port}`,
            // Letters look alike on every computer that has the same fonts.
            '--font-render-hinting=none', '--disable-lcd-text',
        ],
    });
}

/** Closes, prints, exits. */
async function finish(code) {
    const timer = setTimeout(() => process.exit(1), 2 * CLOSE_MS);
    // If the browser does not close, it is killed when this process exits.
    if (browser) await within(CLOSE_MS, browser.close(), 'close').catch(() => {});
    if (result.ended_early) process.stderr.write(`walk: ${result.ended_early}\n`);
    result.milliseconds = Date.now() - started;
    await new Promise((resolve) => process.stdout.write(`${JSON.stringify(result)}\n`, resolve));
    clearTimeout(timer);
    process.exit(code);
}

const job = readJob();
const program = findBrowser();
const packages = await findPackages();
// The browser's home and profile, so that it finds nothing of the user's and leaves nothing.
const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'yore-walk-'));
const clean = () => fs.rmSync(temporary, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
process.env.TMPDIR = temporary;
process.on('unhandledRejection', (error) => process.stderr.write(`walk: ${reason(error)}\n`));

setTimeout(() => {
    result.ended_early = `not done in ${WALK_MS} ms, during ${during}`;
    finish(1);
}, WALK_MS).unref();

try {
    browser = await launch(packages, program, temporary);
    // After Playwright's own, which kills the browser.
    process.on('exit', clean);
    result.browser = `${browser.browserType().name()} ${browser.version()}`;
    if (job.out) fs.mkdirSync(job.out, { recursive: true });
    const cookies = await enter(job);
    await walkPages(job, cookies, packages);
    await tryOthers(job, cookies);
} catch (error) {
    if (!browser) clean();
    result.ended_early = reason(error);
    await finish(1);
}
await finish(0);
