// Tells how much memory a view takes in a browser:
//
//     YORE_TEST_BROWSER=FOLDER node scripts/browser/memory.mjs LINK VIEW
//
// LINK is what `yore page --print` prints, VIEW a path of the page. It is scrolled down 200 times and up 100 times, as by a wheel. Prints JSON, in
// megabytes: private memory of the tab's process with an empty document, with the view, and after scrolling (without what is garbage),
// and the heap of JavaScript and the number of nodes then.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [enter, view] = process.argv.slice(2);
const folder = process.env.YORE_TEST_BROWSER;
if (!view || !folder) {
    process.stderr.write('usage: YORE_TEST_BROWSER=FOLDER node memory.mjs LINK VIEW\n');
    process.exit(1);
}
const { chromium } = createRequire(path.join(path.resolve(folder), 'memory.js'))('playwright-core');
const browser = await chromium.launch({
    executablePath: process.env.YORE_TEST_CHROMIUM ?? '/usr/bin/chromium',
    chromiumSandbox: false,
    args: ['--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
const [system, tab] = [await browser.newBrowserCDPSession(), await page.context().newCDPSession(page)];

/** Private memory of the largest tab's process, after a garbage collection. */
async function memory() {
    await page.waitForTimeout(1000);
    await tab.send('HeapProfiler.collectGarbage');
    const { processInfo } = await system.send('SystemInfo.getProcessInfo');
    const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => {
        const told = fs.readFileSync(`/proc/${id}/smaps_rollup`, 'utf8');
        const kilobytes = [...told.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((sum, [, size]) => sum + Number(size), 0);
        return (kilobytes * 1024) / 1e6;
    });
    return Number(Math.max(...sizes).toFixed(1));
}

// A document of the same origin, so that the view is shown by the same process.
await page.goto(enter);
// The link leads on to the page.
await page.waitForSelector('main');
const base = await page.evaluate(() => document.baseURI);
await page.goto(new URL('assets/page.css', base).href);
const empty = await memory();
await page.goto(new URL(view, base).href);
await page.waitForLoadState('load');
const opened = await memory();
for (const [times, step] of [[200, 1500], [100, -1500]]) {
    for (let at = 0; at < times; at += 1) {
        await page.mouse.wheel(0, step);
        await page.waitForTimeout(30);
    }
}
const scrolled = await memory();
await tab.send('Performance.enable');
const { metrics } = await tab.send('Performance.getMetrics');
const metric = (name) => metrics.find((one) => one.name === name)?.value;
process.stdout.write(`${JSON.stringify({ empty, opened, scrolled, heap: metric('JSHeapUsedSize') / 1e6, nodes: metric('Nodes') })}\n`);
await browser.close();
