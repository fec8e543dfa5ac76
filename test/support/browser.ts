import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';
import { launchBrowser } from './launch-browser.ts';
import { WAIT_MS } from './until.ts';

/** A page in its own browser, and a record of everything it did. */
export interface TestPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every request so far. */
  readonly requests: readonly Request[];
  /** Console errors, uncaught errors, dialogs and CSP reports as text. A correct page causes none. */
  readonly troubles: readonly string[];
  /** Writes a screenshot into the folder `SLIPWAY_SCREENSHOTS`; nothing without it. */
  readonly screenshot: (name: string, options?: { readonly fullPage?: boolean }) => Promise<void>;
  /** Findings of axe-core, as `rule: element` lines; of all rules, or of those about colours. */
  readonly violations: (rules?: 'all' | 'colours') => Promise<readonly string[]>;
}

/** Viewport and preferences with which the page is opened. */
export interface Look {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
}

/** A common desktop, and the narrowest supported phone. */
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** One browser per test file, with a fresh profile folder. */
let launched: Promise<Browser> | null = null;

afterAll(async () => {
  await (await launched)?.close();
});

/** Opens an empty page in a real headless Chromium, with its own storage. It closes with the running test. */
export async function openPage(look: Look = {}): Promise<TestPage> {
  launched ??= launchBrowser();
  const browser = await launched;
  const context = await browser.newContext({
    colorScheme: look.colorScheme ?? 'light',
    viewport: look.viewport ?? DESKTOP,
    timezoneId: 'UTC',
    locale: 'en-GB',
    reducedMotion: 'reduce',
  });
  onTestFinished(async () => {
    // A request that a test answers itself may be on its way, and fails when its page closes.
    for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const requests: Request[] = [];
  const troubles: string[] = [];
  page.on('request', (request) => requests.push(request));
  page.on('pageerror', (error) => troubles.push(`uncaught: ${error.message}`));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // The browser itself logs every answer of 400 and above, and every refused connection.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) troubles.push(`console: ${message.text()}`);
  });
  await page.addInitScript(`
    globalThis.cspReports = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      globalThis.cspReports.push(event.violatedDirective + ' ' + event.blockedURI);
    });
  `);
  const screenshots = process.env['SLIPWAY_SCREENSHOTS'];
  return {
    page,
    context,
    requests,
    troubles,
    screenshot: async (name, { fullPage = false } = {}) => {
      if (screenshots === undefined) return;
      await mkdir(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage, animations: 'disabled' });
    },
    violations: async (rules) => await runAxe(page, rules),
  };
}

/** Everything that the page's policy has blocked so far. */
export async function cspReports(page: Page): Promise<readonly string[]> {
  return (await page.evaluate('globalThis.cspReports')) as string[];
}

/** Runs axe-core. The debugger injects it, so the page's policy does not apply; it adds no markup. */
async function runAxe(page: Page, rules: 'all' | 'colours' = 'all'): Promise<readonly string[]> {
  if ((await page.evaluate(`'axe' in globalThis`)) !== true) await page.evaluate(`${AXE_SOURCE}; undefined`);
  const runs = [`axe.run({ include: ${DISTINCT_TEXTS} }, { ...options, runOnly: ['color-contrast'] })`];
  if (rules === 'all') {
    runs.push(`axe.run(document, { ...options, rules: { 'color-contrast': { enabled: false } } })`);
  }
  // One run after the other: axe-core refuses a second one at the same time.
  const found = (await page.evaluate(`(async () => {
    const options = { resultTypes: ['violations'] };
    return [${runs.map((run) => `...(await ${run}).violations`).join()}];
  })()`)) as readonly AxeFinding[];
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

/**
 * Texts with every look that the page has: colour, size, and what is behind them. The rule about contrast takes most of the time
 * of axe-core, and says the same of each text with the same look, such as in the rows of a list. Runs in the page.
 */
const DISTINCT_TEXTS = `(() => {
  const EXAMPLES = 3;
  const backgrounds = new Map([[null, '']]);
  const backgroundOf = (element) => {
    if (!backgrounds.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity, position].join();
      const behind = backgroundOf(element.parentElement);
      backgrounds.set(element, own === 'rgba(0, 0, 0, 0),none,1,static' ? behind : behind + own + ';');
    }
    return backgrounds.get(element);
  };
  const hasText = (element) => /^(?:INPUT|SELECT|TEXTAREA)$/.test(element.tagName)
    || [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== '');
  const seen = new Map();
  return [...document.querySelectorAll('body *')].filter((element) => {
    if (!hasText(element) || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const isOff = element.closest(':disabled, [aria-disabled=true]') !== null;
    const look = [element.tagName, color, fontSize, fontWeight, textShadow, isOff, backgroundOf(element)].join();
    seen.set(look, (seen.get(look) ?? 0) + 1);
    return seen.get(look) <= EXAMPLES;
  });
})()`;

const AXE_SOURCE = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

/** The part of a finding of axe-core that is used. */
interface AxeFinding {
  readonly id: string;
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>;
}
