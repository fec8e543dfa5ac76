/**
 * Takes the pictures of the console for the documents, from a real service with the world of the tests: fixed names, viewports and
 * languages. Times, digests and task ids differ from run to run. It needs Chromium, and a font with Japanese and Chinese characters
 * (Debian: `chromium`, `fonts-wqy-microhei`).
 *
 *   node scripts/screenshots.ts [NAME...]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import type { Browser, Page } from 'playwright-core';
import { CONSOLE_FILES } from '../test/support/console-release.ts';
import { consoleToken, startConsoleWorld, type ConsoleWorld } from '../test/support/console-world.ts';
import { launchBrowser } from '../test/support/launch-browser.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/how-to/images');
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const MOST_BYTES = 200 * 1024;
const PATIENCE_MS = 90_000;

/** A picture: the address of its page, and how it looks. */
interface Picture {
  readonly hash: (world: ConsoleWorld) => string | Promise<string>;
  readonly isDark?: boolean;
  readonly isPhone?: boolean;
  /** Brings the page into the state of the picture. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const editor = async (world: ConsoleWorld): Promise<string> =>
  `#/translate-task/${await world.task(CONSOLE_FILES.stale)}`;

/** By the name of their files. */
const PICTURES: Readonly<Record<string, Picture>> = {
  overview: { hash: () => '#/overview' },
  'overview-dark': { hash: () => '#/overview', isDark: true },
  tasks: { hash: () => '#/tasks' },
  schedules: { hash: () => '#/schedules' },
  diagnostics: { hash: () => '#/diagnostics' },
  releases: { hash: () => '#/releases' },
  queue: { hash: () => '#/translate' },
  editor: { hash: editor },
  'editor-dark': { hash: editor, isDark: true },
  review: { hash: () => '#/review' },
  glossary: { hash: () => '#/glossary' },
  memory: { hash: () => `#/memory?text=${encodeURIComponent('先生、おはようございます。')}` },
  publish: {
    hash: () => '#/publish',
    prepare: async (page) => {
      await page
        .getByRole('button', { name: /^Roll back to this/ })
        .first()
        .click();
      const changes = page.getByRole('list', { name: 'Lines that readers will see change' });
      await changes.waitFor();
      await page.getByRole('region', { name: 'Published releases' }).scrollIntoViewIfNeeded();
    },
  },
  actions: { hash: () => '#/actions' },
  'overview-phone': { hash: () => '#/overview', isPhone: true },
  'tasks-phone': { hash: () => '#/tasks', isDark: true, isPhone: true },
};

await main(process.argv.slice(2));

async function main(names: readonly string[]): Promise<void> {
  const ends: (() => Promise<void> | void)[] = [];
  const atEnd = (end: () => Promise<void> | void): void => void ends.push(end);
  try {
    const world = await startConsoleWorld({ atEnd });
    const browser = await launchBrowser();
    atEnd(async () => await browser.close());
    await mkdir(FOLDER, { recursive: true });
    for (const [name, picture] of Object.entries(PICTURES)) {
      if (names.length === 0 || names.includes(name)) await take(browser, world, name, picture);
    }
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}

async function take(browser: Browser, world: ConsoleWorld, name: string, picture: Picture): Promise<void> {
  const { isDark = false, isPhone = false } = picture;
  const context = await browser.newContext({
    colorScheme: isDark ? 'dark' : 'light',
    viewport: isPhone ? PHONE : DESKTOP,
    timezoneId: 'UTC',
    locale: 'en-GB',
    reducedMotion: 'reduce',
  });
  try {
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const hash = await picture.hash(world);
    await page.goto(`${world.url}${hash}`);
    await page.getByLabel('Admin token').fill(consoleToken('admin'));
    await page.getByRole('button', { name: 'Open the console' }).click();
    await page.locator('main .view').waitFor();
    await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
    await picture.prepare?.(page);
    await page.waitForLoadState('networkidle').catch(() => undefined);
    const bytes = await smaller(page, await page.screenshot({ animations: 'disabled', caret: 'hide' }));
    if (bytes.length > MOST_BYTES)
      throw new Error(`${name} has ${bytes.length} bytes, more than ${MOST_BYTES}`);
    await writeFile(join(FOLDER, `console-${name}.webp`), bytes);
    console.log(`console-${name}.webp ${Math.round(bytes.length / 1024)} KiB`);
  } finally {
    await context.close();
  }
}

/** The same picture as WebP, made by the browser. Nearly lossless. */
async function smaller(page: Page, png: Buffer): Promise<Buffer> {
  const empty = await page.context().newPage();
  await empty.goto('about:blank');
  const encoded = (await empty.evaluate(`(async () => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,${png.toString('base64')}')).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext('2d').drawImage(image, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: 0.92 });
    return btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(''));
  })()`)) as string;
  await empty.close();
  return Buffer.from(encoded, 'base64');
}
