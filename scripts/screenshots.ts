/**
 * Takes the pictures of the console for the documents, from a real service with the world of the tests: fixed names, viewports and
 * languages. Times, digests and task ids differ from run to run. It needs Chromium, and a font with Japanese and Chinese characters
 * (Debian: `chromium`, `fonts-wqy-microhei`).
 *
 *   node scripts/screenshots.ts [NAME...]
 *
 * The pictures `film-1` to `film-6` are one story, so that each needs those before it.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import type { Browser, Page } from 'playwright-core';
import { consoleToken, startConsoleWorld, type ConsoleWorld } from '../test/support/console-world.ts';
import { launchBrowser } from '../test/support/launch-browser.ts';
import { PICTURES, type Picture } from './screenshots/pictures.ts';
import { rewordChapter } from './screenshots/reword-chapter.ts';
import { showSampleDay } from './screenshots/sample-day.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/how-to/images');
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const MOST_BYTES = 100_000;
const PATIENCE_MS = 90_000;
/** Of the encoder, the best first. */
const QUALITIES = [0.85, 0.75, 0.6, 0.45];

await main(process.argv.slice(2));

async function main(names: readonly string[]): Promise<void> {
  requireFont();
  const ends: (() => Promise<void> | void)[] = [];
  const atEnd = (end: () => Promise<void> | void): void => void ends.push(end);
  try {
    const world = await startConsoleWorld({ atEnd, server: { scrub: { enabled: true, restSeconds: 600 } } });
    await rewordChapter(world);
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

/** @throws Error when no font has the characters, which would be empty boxes in the pictures */
function requireFont(): void {
  if (execFileSync('fc-list', [':lang=ja'], { encoding: 'utf8' }) === '')
    throw new Error('no font has Japanese characters; install one, such as fonts-wqy-microhei of Debian');
}

async function take(browser: Browser, world: ConsoleWorld, name: string, picture: Picture): Promise<void> {
  const { isDark = false, isPhone = false, person = 'admin' } = picture;
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
    await showSampleDay(page);
    const hash = await picture.hash(world);
    await page.goto(`${world.url}${hash}`);
    await page.getByLabel('Access token').fill(consoleToken(person));
    await page.getByRole('button', { name: 'Open the console' }).click();
    await page.locator('main .view').waitFor();
    await untilQuiet(page);
    await picture.prepare?.(page, world);
    await untilQuiet(page);
    await leaveAlone(page);
    const bytes = await smaller(page, await page.screenshot({ animations: 'disabled', caret: 'hide' }));
    if (bytes.length > MOST_BYTES)
      throw new Error(`${name} has ${bytes.length} bytes, more than ${MOST_BYTES}`);
    await writeFile(join(FOLDER, `console-${name}.webp`), bytes);
    console.log(`console-${name}.webp ${Math.round(bytes.length / 1024)} KiB`);
  } finally {
    await context.close();
  }
}

async function untilQuiet(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle').catch(() => undefined);
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
}

/** Takes the pointer and, outside of a dialog, the focus from everything that shows them. */
async function leaveAlone(page: Page): Promise<void> {
  await page.mouse.move(0, 0);
  await page.evaluate(
    `document.activeElement?.closest('.palette, textarea') ?? document.activeElement?.blur()`,
  );
}

/** The same picture as WebP, made by the browser, with the best quality that keeps it within its bound. */
async function smaller(page: Page, png: Buffer): Promise<Buffer> {
  const empty = await page.context().newPage();
  await empty.goto('about:blank');
  const encoded = (await empty.evaluate(`(async () => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,${png.toString('base64')}')).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext('2d').drawImage(image, 0, 0);
    let blob = null;
    for (const quality of ${JSON.stringify(QUALITIES)}) {
      blob = await canvas.convertToBlob({ type: 'image/webp', quality });
      if (blob.size <= ${MOST_BYTES}) break;
    }
    return btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(''));
  })()`)) as string;
  await empty.close();
  return Buffer.from(encoded, 'base64');
}
