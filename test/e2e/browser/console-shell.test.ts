import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { logIn, openConsoleSystem, startConsoleSystem } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

describe.skipIf(!hasTool('chromium'))('the frame of the console', () => {
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return system;
  });

  it('says on every page whether clients get files', async () => {
    const system = await reused();
    const { page } = await openConsoleSystem(system.consoleUrl);
    for (const view of ['overview', 'releases', 'schedules', 'settings']) {
      await page.goto(`${system.consoleUrl}#/${view}`);
      const bar = page.locator('.verdict-bar');
      await bar.getByRole('link', { name: /Official served r90_one attestation expires in/ }).waitFor();
      await bar.getByRole('link', { name: 'Localized no release' }).waitFor();
    }
  });

  it('has its verdicts in one row, also with long release ids', async () => {
    const system = await reused();
    const { page } = await openConsoleSystem(system.consoleUrl, { viewport: { width: 1280, height: 800 } });
    const bar = page.locator('.verdict-bar');
    await bar.getByRole('link', { name: /Official served r90_one/ }).waitFor();
    const heightOf = async (): Promise<number> => (await bar.boundingBox())!.height;
    const before = await heightOf();
    await page.route('**/healthz*', async (route) => {
      const answer = await route.fetch();
      const text = (await answer.text()).replaceAll('r90_one', `r90_one-${'x'.repeat(100)}`);
      await route.fulfill({ response: answer, body: text });
    });
    await bar.getByRole('link', { name: /Official served r90_one-x/ }).waitFor();
    expect(await heightOf()).toBe(before);
  });

  it('finds pages, actions, releases and tasks by a few keys', async () => {
    const system = await reused();
    const verified = await system.run('verify');
    const { page, violations, troubles } = await openConsoleSystem(system.consoleUrl);
    const search = page.getByRole('combobox', { name: /^Search/ });
    const find = async (text: string, entry: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await search.fill(text);
      await page.getByRole('option', { name: entry, selected: true }).waitFor();
    };
    await find('sched', 'Page Schedules – Operate');
    expect(await violations()).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
    await find(verified.task_id, `Task verify succeeded ${verified.task_id}`);
    await page.keyboard.press('Enter');
    await page.getByText('verify succeeded', { exact: true }).waitFor();
    await find('r90_one', 'Release r90_one official');
    await page.keyboard.press('Escape');
    // The closed dialog hides its field a moment before it is gone.
    await page.locator('dialog.palette').waitFor({ state: 'detached' });
    await find('catalog ref', 'Action Look for a new upstream release – catalog-refresh');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Look for a new upstream release' }).waitFor();
    // The keys of the page rest while a dialog is open.
    await page.keyboard.press('Control+k');
    expect(await search.count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('fetches nothing before the first view but what counts for it, and the forms with the first form', async () => {
    const system = await reused();
    const { page, requests } = await openConsoleSystem(system.consoleUrl);
    await page.getByText('Last sync').waitFor();
    const fetched = (): readonly string[] =>
      requests.flatMap((request) =>
        request.url().startsWith(system.consoleUrl) ? [request.url().slice(system.consoleUrl.length)] : [],
      );
    const { first } = JSON.parse(readFileSync('.console/manifest.json', 'utf8')) as { first: string[] };
    const counted = new Set([...first.filter((name) => name !== 'index.html'), '', 'outline.json']);
    expect(fetched().length).toBeGreaterThan(10);
    expect(fetched().filter((name) => !counted.has(name))).toEqual([]);
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page.getByRole('dialog', { name: 'Sync now' }).waitFor();
    expect(fetched()).toContain('forms.json');
  });

  it('lists its keys, and takes none from a field', async () => {
    const system = await reused();
    const { page, violations } = await openConsoleSystem(system.consoleUrl);
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Ctrl K').waitFor();
    expect(await violations()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.goto(`${system.consoleUrl}#/diagnostics`);
    await page.getByLabel('Containing').pressSequentially('why?');
    await expect.poll(async () => await page.getByLabel('Containing').inputValue()).toBe('why?');
    expect(await dialog.count()).toBe(0);
  });

  it('keeps every choice in the address, also after a reload', async () => {
    const system = await reused();
    const { page } = await openConsoleSystem(system.consoleUrl);
    await page.goto(`${system.consoleUrl}#/diagnostics`);
    await page.getByLabel('From level').selectOption('warn');
    await page.getByLabel('Containing').fill('a&b');
    await page.waitForURL('**/#/diagnostics?level=warn&text=a%26b');
    const second = await openConsoleSystem(page.url());
    await expect.poll(async () => await second.page.getByLabel('Containing').inputValue()).toBe('a&b');
    await expect.poll(async () => await second.page.getByLabel('From level').inputValue()).toBe('warn');
  });

  it('keeps the theme of the reader over a reload, and follows the system where they choose it', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(`${system.consoleUrl}#/settings`);
    const { page } = opened;
    const ground = async (): Promise<string> =>
      (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string;
    const light = await ground();
    await page.getByLabel('Theme').selectOption('Dark');
    await expect.poll(ground).not.toBe(light);
    const dark = await ground();
    // The page is dark before the scripts are there, too.
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/main-*.js', async (route) => {
      await held;
      await route.continue();
    });
    await page.reload({ waitUntil: 'commit' });
    await page.locator('#app').waitFor({ state: 'attached' });
    await expect.poll(ground).toBe(dark);
    expect(await page.getByLabel('Access token').count()).toBe(0);
    release?.();
    await logIn(opened);
    await expect.poll(async () => await page.getByLabel('Theme').inputValue()).toBe('dark');
    await page.getByLabel('Theme').selectOption('As the system');
    await expect.poll(ground).toBe(light);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(ground).toBe(dark);
    await page.getByLabel('Theme').selectOption('Light');
    await expect.poll(ground).toBe(light);
  });

  it('takes back the switch of a schedule', async () => {
    const system = await reused();
    const { page, violations } = await openConsoleSystem(`${system.consoleUrl}#/schedules`);
    const toggle = page.getByRole('switch', { name: /^configured:cleanup/ });
    const toasts = page.getByRole('region', { name: 'Results' });
    await toggle.and(page.getByRole('switch', { checked: true })).click();
    // At once, because it is offered for seconds only.
    await toasts.getByRole('button', { name: /^Undo/ }).click();
    await toasts.getByText('configured:cleanup runs automatically again.', { exact: true }).first().waitFor();
    await toggle.and(page.getByRole('switch', { checked: true })).waitFor();
    expect(await violations()).toEqual([]);
    // An undo has no undo of its own.
    expect(await toasts.getByRole('button', { name: /^Undo/ }).count()).toBe(0);
  });

  it('says when the server has another version than the page, and loads it again on request', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const { page, violations } = opened;
    const note = page.getByText(/^The server now has version 99\.0\.0; this page is from version \d/);
    expect(await note.count()).toBe(0);
    await page.route('**/healthz', async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        json: { ...((await response.json()) as object), version: '99.0.0' },
      });
    });
    await note.waitFor();
    expect(await violations()).toEqual([]);
    await page.getByRole('button', { name: 'Load the page again' }).click();
    await logIn(opened);
    expect(await note.count()).toBe(0);
  });

  it('offers the last opened things first, until the person logs out', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const { page } = opened;
    const search = page.getByRole('combobox', { name: /^Search/ });
    const firstOf = async (count: number): Promise<readonly string[]> => {
      await page.keyboard.press('Control+k');
      const options = page.getByRole('listbox', { name: 'Found' }).getByRole('option');
      await options.nth(count - 1).waitFor();
      const texts = await options.allTextContents();
      await page.keyboard.press('Escape');
      await page.locator('dialog.palette').waitFor({ state: 'detached' });
      return texts.slice(0, count);
    };
    expect(await firstOf(1)).toEqual(['Page Overview – Operate']);
    for (const name of ['Diagnostics', 'Schedules', 'Diagnostics']) {
      await page.keyboard.press('Control+k');
      await search.fill(name);
      await page.getByRole('option', { name: `Page ${name}`, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name }).waitFor();
    }
    expect(await firstOf(2)).toEqual(['Page Diagnostics – Operate', 'Page Schedules – Operate']);
    await page.getByRole('button', { name: 'Log out' }).click();
    await logIn(opened);
    expect(await firstOf(1)).toEqual(['Page Overview – Operate']);
  });
});
