#!/usr/bin/env node
// node browser.mjs press URL BUTTON [CHOICE]   presses a button and prints the heading of the resulting page
// node browser.mjs enter URL BUTTON LABEL=VALUE...  fills in a form, submits it and prints the heading of the resulting page
// node browser.mjs capture URL FOLDER NAME      saves screenshots for phone and desktop, light and dark; fails if axe reports a serious violation
// Scripts are disabled in the page: it must work without them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [verb, url, ...rest] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Chromium has no sandbox as root; the pages are trusted.
  args: ['--no-sandbox', '--disable-gpu'],
});

async function press(button, choice) {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(url);
  if (choice) await page.getByLabel(choice, { exact: true }).check();
  await page.getByRole('button', { name: button }).click();
  await page.waitForLoadState();
  console.log((await page.getByRole('heading', { level: 1 }).textContent()).trim());
}

async function enter(button, ...fields) {
  const page = await browser.newPage({ javaScriptEnabled: false });
  await page.goto(url);
  for (const field of fields) {
    const [label, value] = field.split('=');
    await page.getByLabel(label, { exact: true }).fill(value);
  }
  await page.getByRole('button', { name: button }).click();
  await page.waitForLoadState();
  console.log((await page.getByRole('heading', { level: 1 }).textContent()).trim());
}

const SIZES = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 900 } };

async function capture(folder, name) {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  let serious = 0;
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark']) {
      // The content security policy of the page allows no script, so axe needs bypassCSP.
      const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true });
      const page = await context.newPage();
      await page.goto(url);
      await page.screenshot({ path: `${folder}/${name}-${size}-${colorScheme}.png`, fullPage: true });
      // What is folded is checked, too.
      await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
      if (wide) throw new Error(`${name} is wider than a ${size}`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => window.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
      for (const violation of found.violations) {
        const bad = ['serious', 'critical'].includes(violation.impact);
        serious += bad ? 1 : 0;
        console.error(`${name} ${size} ${colorScheme}: ${violation.impact} ${violation.id}: ${violation.nodes.map((node) => node.html).join(' ')}`);
      }
      await context.close();
    }
  }
  console.log(`${name}: 4 screenshots, ${serious} serious violations`);
  if (serious) process.exitCode = 1;
}

try {
  if (verb === 'press') await press(...rest);
  else if (verb === 'enter') await enter(...rest);
  else if (verb === 'capture') await capture(...rest);
  else throw new Error('usage: browser.mjs press|enter|capture URL ...');
} finally {
  await browser.close();
}
