import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';
import { launchBrowser } from './launch-browser.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A page in its own browser, and a record of everything it did. */
export interface TestPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every request so far. */
  readonly requests: readonly Request[];
  /** Console errors, uncaught errors, dialogs and CSP reports as text. A correct page causes none. */
  readonly troubles: readonly string[];
  /** Writes a screenshot where `SLIPWAY_SCREENSHOTS` says, or into a folder that is removed afterwards. */
  readonly screenshot: (name: string, options?: { readonly fullPage?: boolean }) => Promise<void>;
  /** Findings of axe-core, as `rule: element` lines; of all rules, or of those that are named. */
  readonly violations: (rules?: readonly string[]) => Promise<readonly string[]>;
}

/** Viewport and preferences with which the page is opened. */
export interface Look {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
}

/** A common desktop, and the narrowest supported phone. */
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** How long to wait for an element. The machine may be busy. */
const PATIENCE_MS = 90_000;

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
  context.setDefaultTimeout(PATIENCE_MS);
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
  const screenshots = process.env['SLIPWAY_SCREENSHOTS'] ?? (await temporaryDirectory());
  return {
    page,
    context,
    requests,
    troubles,
    screenshot: async (name, { fullPage = false } = {}) => {
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
async function runAxe(page: Page, rules: readonly string[] | undefined): Promise<readonly string[]> {
  if ((await page.evaluate(`'axe' in globalThis`)) !== true) await page.evaluate(`${AXE_SOURCE}; undefined`);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

const AXE_SOURCE = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

/** The part of the axe-core result that is used. */
interface AxeResults {
  readonly violations: ReadonlyArray<{
    readonly id: string;
    readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>;
  }>;
}
