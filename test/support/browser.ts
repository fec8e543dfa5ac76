import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';
import { temporaryDirectory } from './temporary-directory.ts';

/** A page in a browser of its own, and everything it did that a test may ask about. */
export interface TestPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every request so far. */
  readonly requests: readonly Request[];
  /** Console errors, uncaught errors, dialogs and CSP reports, in words; what a sound page never causes. */
  readonly troubles: readonly string[];
  /** Writes a screenshot where `SLIPWAY_SCREENSHOTS` says, or into a folder that is removed afterwards. */
  readonly screenshot: (name: string, options?: { readonly fullPage?: boolean }) => Promise<void>;
  /** What axe-core finds, as `rule: element` lines. */
  readonly violations: () => Promise<readonly string[]>;
}

/** How the page is looked at. */
export interface Look {
  readonly colorScheme?: 'light' | 'dark';
  readonly viewport?: { readonly width: number; readonly height: number };
}

/** A common desktop, and the narrowest phone that is cared for. */
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 740 };

/** How long an element is waited for: a loaded machine is slow, not wrong. */
const PATIENCE_MS = 90_000;

/** Nothing that the browser does by itself may reach the network or outlive the test. */
const ARGUMENTS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** One browser a test file; its profile is a fresh folder of its own. */
let launched: Promise<Browser> | null = null;

afterAll(async () => {
  await (await launched)?.close();
});

async function launch(): Promise<Browser> {
  return await chromium.launch({
    executablePath: execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(),
    headless: true,
    // The containers that tests run in have no user namespaces for it.
    chromiumSandbox: false,
    args: ARGUMENTS,
  });
}

/** Opens an empty page in a real headless Chromium, with storage of its own; it is closed with the running test. */
export async function openPage(look: Look = {}): Promise<TestPage> {
  launched ??= launch();
  const browser = await launched;
  const context = await browser.newContext({
    colorScheme: look.colorScheme ?? 'light',
    viewport: look.viewport ?? DESKTOP,
    timezoneId: 'UTC',
    locale: 'en-GB',
    reducedMotion: 'reduce',
  });
  onTestFinished(async () => {
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
    // The browser itself notes every answer of 400 and above, and every connection refused.
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
    violations: async () => await runAxe(page),
  };
}

/** What the page's policy has stopped so far. */
export async function cspReports(page: Page): Promise<readonly string[]> {
  return (await page.evaluate('globalThis.cspReports')) as string[];
}

/**
 * Runs axe-core with all of its rules. It comes in through the debugger, which the page's policy does not govern, and
 * makes no markup of its own.
 */
async function runAxe(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${AXE_SOURCE}; undefined`);
  const found = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as AxeResults;
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

const AXE_SOURCE = readFileSync(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

/** The part of the answer of axe-core that is used. */
interface AxeResults {
  readonly violations: ReadonlyArray<{
    readonly id: string;
    readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>;
  }>;
}
