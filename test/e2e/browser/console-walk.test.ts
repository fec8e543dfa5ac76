import type { Page, Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { ReportName } from '../../../src/contract/reports/reports.ts';
import { DESKTOP, PHONE, type TestPage } from '../../support/browser.ts';
import {
  answerEmpty,
  answerReports,
  refusalOf,
  refuse,
  tellState,
  type ReportAnswer,
} from '../../support/console-answers.ts';
import { openConsole } from '../../support/console-page.ts';
import { consoleAddresses, openHash, showPage } from '../../support/console-pages.ts';
import { CONSOLE_FILES } from '../../support/console-release.ts';
import { consoleToken, startConsoleWorld, type ConsoleWorld } from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { layoutFaults } from '../../support/layout-faults.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const HOURS_MS = 3 * 60 * 60 * 1000;

/** A state in which every page is examined, besides that in which it has what it shows. */
interface PageState {
  readonly name: string;
  readonly viewport: typeof DESKTOP;
  /** Prepares a page that shows nothing yet. @returns the reports that it asks for later */
  readonly prepare: (page: Page) => Promise<ReadonlySet<ReportName>>;
  /** Waits until a page that has asked for some reports shows the state. */
  readonly proof: (page: Page, asked: ReadonlySet<ReportName>) => Promise<void>;
}

const WAITS = /^(?:Loading|Counting|Reading) .*…/;

/** Pages that need no report: their content is in the page itself, or a person asks for it. */
const OF_THEMSELVES: ReadonlySet<string> = new Set(['#/settings', '#/actions', '#/reports', '#/components']);

const held = async (): Promise<void> => await new Promise(() => undefined);

const by =
  (answer: ReportAnswer) =>
  async (page: Page): Promise<ReadonlySet<ReportName>> =>
    await answerReports(page, answer);

const STATES: readonly PageState[] = [DESKTOP, PHONE].flatMap((viewport) => [
  {
    name: 'waits for its reports',
    viewport,
    prepare: by(held),
    proof: async (page) => {
      await page.locator('main').getByText(WAITS).first().waitFor();
    },
  },
  {
    name: 'has nothing to show',
    viewport,
    prepare: by(answerEmpty),
    proof: async (page) => {
      await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
      await page.locator('main').locator('.empty, .empty-state, .note').first().waitFor();
    },
  },
  {
    name: `gets no report, but a problem with ${viewport === DESKTOP ? 503 : 500}`,
    viewport,
    prepare: by(async (route, name) => await refuse(route, name, viewport === DESKTOP ? 503 : 500)),
    proof: async (page, asked) => {
      const details = [...asked].map((name) => page.locator('main').getByText(refusalOf(name)));
      await details
        .reduce((one, other) => one.or(other))
        .first()
        .waitFor();
    },
  },
  {
    name: 'belongs to a service that does not serve',
    viewport,
    prepare: async (page) => {
      await tellState(page, {
        state: 'damaged',
        reason: 'EntryDamaged',
        message: '1 entry is damaged',
        next_step: { text: 'Run repair.', action: 'repair' },
      });
      return new Set();
    },
    proof: async (page) => {
      await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' });
      await page
        .locator('.verdict-bar')
        .getByRole('link', { name: /^Official damaged/ })
        .waitFor();
    },
  },
]);

/** States of pages that an address alone does not show. */
const FORMS: Readonly<Record<string, (page: Page, world: ConsoleWorld) => Promise<void>>> = {
  'the palette': async (page, world) => {
    await showPage(page, world, '#/overview');
    await page.getByRole('button', { name: /^Search/ }).click();
    await page.getByRole('combobox', { name: /^Search/ }).waitFor();
  },
  'a form': async (page, world) => {
    await showPage(page, world, '#/schedules');
    await page.getByRole('button', { name: 'Add a schedule' }).click();
    await page.getByRole('dialog').waitFor();
  },
  'two selected releases': async (page, world) => {
    await showPage(page, world, '#/releases');
    const boxes = page.locator('main').getByRole('checkbox');
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page
      .getByRole('link', { name: /^Compare / })
      .or(page.getByRole('button', { name: /^Compare / }))
      .waitFor();
  },
  'a unit of the editor': async (page, world) => {
    await showPage(page, world, `#/translate-task/${await world.task(CONSOLE_FILES.stale)}`);
    await page.locator('.unit-row').first().click();
    await page.getByRole('region', { name: 'Unit', exact: true }).waitFor();
  },
  'a task before it is handed in': async (page, world) => {
    await showPage(page, world, `#/translate-task/${await world.task(CONSOLE_FILES.blocked)}`);
    await page.getByRole('button', { name: 'Hand in for review' }).click();
    await page.getByRole('region', { name: 'Hand in', exact: true }).waitFor();
  },
  'a refused form': async (page, world) => {
    await showPage(page, world, '#/actions');
    await page.getByRole('button', { name: 'Run … translation-glossary-add', exact: true }).click();
    await page.getByRole('button', { name: 'Add a term' }).click();
    await page.getByText('is needed').first().waitFor();
  },
  'the question before an action that destroys': async (page, world) => {
    await showPage(page, world, '#/schedules');
    await page.getByRole('button', { name: 'Remove nightly-verify' }).click();
    await page.getByRole('button', { name: 'Continue …' }).click();
    await page.getByRole('button', { name: 'Yes, remove schedule nightly-verify' }).waitFor();
  },
};

/** What is wrong with a page as it is now, in light and in dark. Only the colours differ between these. */
async function faultsOf({ page, violations }: TestPage): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    const found = [
      ...(await violations(colorScheme === 'light' ? undefined : ['color-contrast'])),
      ...(await layoutFaults(page)),
    ];
    faults.push(...found.map((fault) => `${colorScheme}: ${fault}`));
  }
  return faults;
}

/** Collects what moved although nobody pressed a key or a button. Runs in the page. */
const WATCH_SHIFTS = `
  globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (!hadRecentInput) shifts.push([value, ...sources.map(({ node }) => (node?.outerHTML ?? node?.textContent ?? '').slice(0, 120))]);
    }
  }).observe({ type: 'layout-shift' });
`;

/** The buttons of the page that are less than 40 pixels high. Runs in the page. */
const FIND_LOW_BUTTONS = `[...document.querySelectorAll('main button, main a.button')]
  .filter((button) => button.checkVisibility() && button.getBoundingClientRect().height < 40)
  .map((button) => button.textContent)`;

/** Whether a request asks for data, and not for the files of the page. */
const isData = ({ pathname }: URL): boolean =>
  !pathname.startsWith('/admin/dashboard/') && /^\/(?:admin|healthz|readyz)/.test(pathname);

describe.skipIf(!hasTool('chromium'))('every page of the console', () => {
  const reused = reusedFixture(async (atEnd) => {
    const world = await startConsoleWorld({ atEnd });
    const { page } = await openConsole(world, '');
    return { ...world, addresses: await consoleAddresses(page, world) };
  });

  it.each([DESKTOP, PHONE])(
    'has no finding of axe-core, fits the screen, cuts nothing and causes no trouble, in light and dark ($width px)',
    async (viewport) => {
      const world = await reused();
      const opened = await openConsole(world, '', { viewport });
      const { page, screenshot, troubles } = opened;
      const faults: Record<string, readonly string[]> = {};
      const examine = async (name: string): Promise<void> => {
        const found = await faultsOf(opened);
        if (found.length > 0) faults[name] = found;
        await screenshot(`page${name.replaceAll(/[^\w]+/g, '-')}-${viewport.width}`);
      };
      for (const hash of world.addresses) {
        await showPage(page, world, hash);
        await examine(hash);
      }
      for (const [name, reach] of Object.entries(FORMS)) {
        await reach(page, world);
        await examine(name);
        await page.keyboard.press('Escape');
      }
      expect(faults).toEqual({});
      expect(troubles).toEqual([]);
    },
  );

  it('has buttons for fingers on a phone, also in rows of tables', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '', { viewport: PHONE });
    const low: Record<string, unknown> = {};
    for (const hash of world.addresses) {
      await showPage(page, world, hash);
      const found = (await page.evaluate(FIND_LOW_BUTTONS)) as readonly string[];
      if (found.length > 0) low[hash] = found;
    }
    expect(low).toEqual({});
  });

  it.each(STATES)(
    'is as sound while it $name ($viewport.width px)',
    async ({ viewport, prepare, proof, name }) => {
      const world = await reused();
      const opened = await openConsole(world, '#/settings', { viewport });
      const { page, screenshot, troubles } = opened;
      const asked = await prepare(page);
      const faults: Record<string, readonly string[]> = {};
      for (const hash of world.addresses) {
        await openHash(page, world, hash);
        if (!OF_THEMSELVES.has(hash)) await proof(page, asked);
        const found = await faultsOf(opened);
        if (found.length > 0) faults[hash] = found;
        await screenshot(`${name}-${hash}-${viewport.width}`.replaceAll(/[^\w]+/g, '-'));
      }
      expect(faults).toEqual({});
      expect(troubles).toEqual([]);
    },
  );

  it('has one heading of the first level, the verdict, and a list of its keys', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '');
    for (const hash of world.addresses) {
      await showPage(page, world, hash);
      expect([hash, await page.getByRole('heading', { level: 1 }).count()]).toEqual([hash, 1]);
      await page
        .locator('.verdict-bar')
        .getByRole('link', { name: /^Official served/ })
        .waitFor();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys of this page' }).waitFor();
      await page.keyboard.press('Escape');
    }
  });

  it('says that there is no answer while the server is away, and breaks nowhere', async () => {
    const world = await reused();
    const { page, troubles } = await openConsole(world, '');
    await page.context().route(isData, async (route) => {
      await route.abort();
    });
    await page.locator('.verdict-bar .unknown').first().waitFor();
    for (const hash of world.addresses) {
      await page.goto(`${world.url}${hash}`);
      await page.locator('main .view').waitFor();
      await page.locator('.verdict-bar .unknown').first().waitFor();
      expect([hash, await page.getByText('This view cannot show the data').count()]).toEqual([hash, 0]);
    }
    await page.context().unrouteAll();
    await page
      .locator('.verdict-bar')
      .getByRole('link', { name: /^Official served/ })
      .waitFor();
    expect(troubles).toEqual([]);
  });

  it('asks for a token when the server rejects the one it has, and shows the same page afterwards', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '');
    for (const hash of world.addresses) {
      await showPage(page, world, hash);
      await page.context().route(isData, async (route) => {
        await route.fulfill({ status: 401, contentType: 'application/problem+json', body: '{"status":401}' });
      });
      await page.getByText('The server rejects this token.').waitFor();
      await page.context().unrouteAll();
      await logIn({ page }, consoleToken('admin'));
      expect(new URL(page.url()).hash).toBe(hash);
      await page.locator('main .view').waitFor();
    }
  });

  it('tells times by the clock of the server when that of the reader is wrong', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '');
    await page.clock.install({ time: Date.now() + HOURS_MS });
    await page.reload();
    await logIn({ page }, consoleToken('admin'));
    await showPage(page, world, '#/tasks');
    const [first] = await page.locator('main time').allTextContents();
    expect(first).toMatch(/now|\d+ (?:s|min) ago/);
    // The leases of an hour and of a day have not ended.
    await showPage(page, world, `#/translate?destination=${encodeURIComponent(CONSOLE_FILES.leased)}`);
    await page.getByText(/^(?:\d+ min|1 h) left, worker-1$/).waitFor();
    const claimed = (await world.units(CONSOLE_FILES.drafts)).find(
      ({ translation }) => translation?.claim?.owner === 'kana',
    );
    const task = await world.task(CONSOLE_FILES.drafts);
    await showPage(page, world, `#/translate-task/${task}?unit=${claimed?.unit_id}`);
    await page
      .locator('.lease-notes')
      .getByText(/^kana works on it, \d+:\d\d left$/)
      .waitFor();
    // The next run of a schedule is ahead, and none is late.
    await showPage(page, world, '#/schedules');
    const nightly = page.getByRole('row').filter({ hasText: 'nightly-verify' });
    await nightly.getByText(/^in (?:23 h|1 d)$/).waitFor();
    expect(await page.getByText(/^Late by/).count()).toBe(0);
    // A toast is shown as long as everywhere.
    await nightly.getByRole('switch').click();
    const toasts = page.getByRole('region', { name: 'Results' });
    await toasts.getByText('nightly-verify runs no more by itself.', { exact: true }).first().waitFor();
    await toasts.getByRole('button', { name: /^Undo/ }).click();
    const again = toasts.getByText('nightly-verify runs by itself again.', { exact: true }).first();
    await again.waitFor();
    await page.clock.fastForward(7000);
    await again.waitFor({ state: 'detached' });
  });

  it('moves nothing under the pointer while its data is read again', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '');
    await page.clock.install();
    const open = new Set<Request>();
    page.on('request', (request) => open.add(request));
    page.on('requestfinished', (request) => open.delete(request));
    page.on('requestfailed', (request) => open.delete(request));
    await page.evaluate(WATCH_SHIFTS);
    const shifts: Record<string, unknown> = {};
    let refreshed = 0;
    for (const hash of world.addresses) {
      await showPage(page, world, hash);
      await expect.poll(() => open.size).toBe(0);
      await openHash(page, world, hash);
      await page.evaluate('globalThis.shifts.length = 0');
      const asked = page.waitForRequest((request) => isData(new URL(request.url())), { timeout: 5000 });
      // All lists but the longest are read again by then.
      await page.clock.fastForward(16_000);
      refreshed += await asked.then(
        () => 1,
        () => 0,
      );
      await expect.poll(() => open.size).toBe(0);
      await openHash(page, world, hash);
      const found = (await page.evaluate('globalThis.shifts')) as readonly unknown[];
      if (found.length > 0) shifts[hash] = found;
    }
    expect(shifts).toEqual({});
    expect(refreshed).toBe(world.addresses.length);
  });

  it.each(['translate', 'review', 'publish', 'operate'] as const)(
    'offers a token of the scope %s only what it may do',
    async (person) => {
      const world = await reused();
      const { page } = await openConsole(world, '#/actions', { person });
      const answer = await fetch(`${world.system.serverUrl}/admin/`, {
        headers: { authorization: `Bearer ${consoleToken(person)}` },
      });
      const { actions } = (await answer.json()) as { actions: { action: string; allowed: boolean }[] };
      await showPage(page, world, '#/actions');
      for (const { action, allowed } of actions) {
        const button = page.locator('main').getByRole('button', { name: `Run … ${action}`, exact: true });
        expect([action, await button.count()]).toEqual([action, allowed ? 1 : 0]);
      }
      await showPage(page, world, '#/publish');
      const mayPublish = actions.some((each) => each.action === 'localized-publish' && each.allowed);
      expect(await page.getByRole('button', { name: 'Start a dry run' }).count()).toBe(mayPublish ? 1 : 0);
    },
  );

  it('has controls and documents for which the search finds faults', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '#/translate', { viewport: PHONE });
    await showPage(page, world, '#/translate');
    await page.evaluate(`document.querySelector('.tabs').style.width = '100px'`);
    await page.evaluate(`document.querySelector('h1').style.cssText = 'width: 20px; white-space: nowrap'`);
    await page.evaluate(`document.querySelector('main select').style.width = '40px'`);
    const found = (await layoutFaults(page)).join('\n');
    expect(found).toContain('cut by .tabs: a "Publish"');
    expect(found).toContain('does not hold its text: h1 "Queue"');
    expect(found).toMatch(/does not hold its text: select/);
  });
});
