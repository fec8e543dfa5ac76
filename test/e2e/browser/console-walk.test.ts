import type { Page, Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { ReportName } from '../../../src/contract/reports/reports.ts';
import { DESKTOP, openPage, PHONE, type TestPage } from '../../support/browser.ts';
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
import { sharedFixture } from '../../support/shared-fixture.ts';
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
  /**
   * The pages that axe-core examines on a desktop, because the state changes them; default all. A phone shows the same elements in
   * another layout, and the test of every page examines them there.
   */
  readonly changes?: RegExp;
}

const WAITS = /^(?:Loading|Counting|Reading) .*…/;

/** Pages that need no report: their content is in the page itself, or a person asks for it. They are the same in every state. */
const OF_THEMSELVES: ReadonlySet<string> = new Set(['#/settings', '#/actions', '#/reports']);

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
      // The search asks nothing before a person does.
      if (page.url().endsWith('#/search')) return;
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
    // On the others only the verdict changes, which is above all of them.
    changes: /^#\/(?:overview|diagnostics|releases\/)/,
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
  'a task before it is submitted': async (page, world) => {
    await showPage(page, world, `#/translate-task/${await world.task(CONSOLE_FILES.blocked)}`);
    await page.getByRole('button', { name: 'Submit for review' }).click();
    await page.getByRole('region', { name: 'Submit for review', exact: true }).waitFor();
  },
  'a refused form': async (page, world) => {
    await showPage(page, world, '#/actions');
    await page.getByRole('button', { name: 'Run … translation-glossary-add', exact: true }).click();
    await page.getByRole('button', { name: 'Add a term' }).click();
    await page.getByText('is required').first().waitFor();
  },
  'the question before an action that destroys': async (page, world) => {
    await showPage(page, world, '#/schedules');
    await page.getByRole('button', { name: 'Remove nightly-verify' }).click();
    await page.getByRole('button', { name: 'Continue …' }).click();
    await page.getByRole('button', { name: 'Yes, remove schedule nightly-verify' }).waitFor();
  },
  'the answer of an action': async (page, world) => {
    await world.ended(
      await world.act('admin', 'schedule-add', {
        id: 'short-lived',
        group: 'res',
        action: 'verify',
        args: ['channel=official'],
        every_seconds: 86_400,
        delay_seconds: 3600,
      }),
    );
    await showPage(page, world, '#/schedules');
    await page.getByRole('button', { name: 'Remove short-lived' }).click();
    await page.getByRole('button', { name: 'Continue …' }).click();
    await page.getByRole('button', { name: 'Yes, remove schedule short-lived' }).click();
    await page.getByText('Remove schedule short-lived: done.').first().waitFor();
  },
  // The last one, because it needs a token afterwards.
  'the login': async (page) => {
    await page.reload();
    await page.getByLabel('Access token').waitFor();
  },
};

/** What is wrong with a page as it is now. In dark only its colours differ, and these are the same on a phone. */
async function faultsOf(
  { page, violations }: TestPage,
  { width }: typeof DESKTOP,
): Promise<readonly string[]> {
  const faults = [...(await violations()), ...(await layoutFaults(page))];
  if (width === PHONE.width) return faults;
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = (await violations('colours')).map((fault) => `dark: ${fault}`);
  await page.emulateMedia({ colorScheme: 'light' });
  return [...faults, ...dark];
}

/** The name of a screenshot. */
function nameOf(state: string, place: string, { width }: typeof DESKTOP): string {
  return `${state}-${place}-${width}`.replaceAll(/[^\w]+/g, '-');
}

/** One heading of the first level, the verdict, and a list of the keys of the page. */
async function expectFrame(page: Page, hash: string): Promise<void> {
  expect([hash, await page.getByRole('heading', { level: 1 }).count()]).toEqual([hash, 1]);
  await page
    .locator('.verdict-bar')
    .getByRole('link', { name: /^Official served/ })
    .waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
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

/**
 * Opens the console with a clock that the test moves on. It is there before the page, because for a moment it tells a wrong time,
 * and the page would compare that with the time of the server.
 */
async function openWithClock(world: ConsoleWorld): Promise<TestPage> {
  const opened = await openPage();
  await opened.page.clock.install();
  await opened.page.goto(world.url);
  await logIn(opened, consoleToken('admin'));
  return opened;
}

/** Whether a request asks for data, and not for the files of the page. */
const isData = ({ pathname }: URL): boolean =>
  !pathname.startsWith('/admin/dashboard/') && /^\/(?:admin|healthz|readyz)/.test(pathname);

describe.skipIf(!hasTool('chromium'))('every page of the console', () => {
  const shared = sharedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));
  let addresses: readonly string[] | null = null;

  /** The world, and the addresses of its pages, which the first test that needs them finds. */
  async function visit(): Promise<ConsoleWorld & { readonly addresses: readonly string[] }> {
    const world = shared();
    addresses ??= await consoleAddresses((await openConsole(world, '')).page, world);
    return { ...world, addresses };
  }

  it.each([DESKTOP, PHONE])(
    'has no finding of axe-core, fits the screen and fingers, cuts nothing, causes no trouble, and has one heading, the verdict and its keys ($width px)',
    async (viewport) => {
      const world = await visit();
      const opened = await openConsole(world, '', { viewport });
      const { page, screenshot, troubles } = opened;
      const faults: Record<string, readonly string[]> = {};
      const low: Record<string, readonly string[]> = {};
      for (const hash of world.addresses) {
        await showPage(page, world, hash);
        const found = await faultsOf(opened, viewport);
        if (found.length > 0) faults[hash] = found;
        await screenshot(nameOf('page', hash, viewport));
        if (viewport === DESKTOP) await expectFrame(page, hash);
        else {
          const buttons = (await page.evaluate(FIND_LOW_BUTTONS)) as readonly string[];
          if (buttons.length > 0) low[hash] = buttons;
        }
      }
      expect(faults).toEqual({});
      expect(low).toEqual({});
      expect(troubles).toEqual([]);
    },
  );

  it.each([DESKTOP, PHONE])(
    'is as sound while a form or a selection is open ($width px)',
    async (viewport) => {
      const world = await visit();
      const opened = await openConsole(world, '', { viewport });
      const { page, screenshot, troubles } = opened;
      const faults: Record<string, readonly string[]> = {};
      for (const [name, reach] of Object.entries(FORMS)) {
        await reach(page, world);
        const found = await faultsOf(opened, viewport);
        if (found.length > 0) faults[name] = found;
        await screenshot(nameOf('page', name, viewport));
        await page.keyboard.press('Escape');
      }
      expect(faults).toEqual({});
      expect(troubles).toEqual([]);
    },
  );

  it.each(STATES)(
    'is as sound while it $name ($viewport.width px)',
    async ({ viewport, prepare, proof, name, changes = /./ }) => {
      const world = await visit();
      const opened = await openConsole(world, '#/settings', { viewport });
      const { page, screenshot, troubles } = opened;
      const asked = await prepare(page);
      const faults: Record<string, readonly string[]> = {};
      for (const hash of world.addresses.filter((each) => !OF_THEMSELVES.has(each))) {
        await openHash(page, world, hash);
        await proof(page, asked);
        const found = await (viewport === DESKTOP && changes.test(hash)
          ? faultsOf(opened, viewport)
          : layoutFaults(page));
        if (found.length > 0) faults[hash] = found;
        await screenshot(nameOf(name, hash, viewport));
      }
      expect(faults).toEqual({});
      expect(troubles).toEqual([]);
    },
  );

  it('says that there is no answer while the server is away, and breaks nowhere', async () => {
    const world = await visit();
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
    const world = await visit();
    const { page } = await openWithClock(world);
    // The frame asks on every page; what an address says of a single object is what could get lost.
    for (const hash of world.addresses.filter((each) => each === '#/overview' || /\/.*[/?]/.test(each))) {
      await showPage(page, world, hash);
      await page.context().route(isData, async (route) => {
        const json = { status: 401, code: 'not_authenticated' };
        await route.fulfill({ status: 401, contentType: 'application/problem+json', json });
      });
      // By then the verdict is read again, if no request is on its way.
      await page.clock.fastForward(16_000);
      await page.getByText('The server rejects this token.').waitFor();
      // A late answer of this kind would reject the token once more.
      await page.context().unrouteAll({ behavior: 'wait' });
      await logIn({ page }, consoleToken('admin'));
      const address = new URL(page.url()).hash;
      // The editor selects a unit automatically, and adds it to the address before or after this.
      expect(hash.startsWith('#/translate-task/') ? address.split('?')[0] : address).toBe(hash);
      await page.locator('main .view').waitFor();
    }
  });

  it('tells times by the clock of the server when that of the reader is wrong', async () => {
    const world = await visit();
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
    await toasts
      .getByRole('button', { name: /^Undo.*nightly-verify no longer runs automatically\./ })
      .click();
    const again = toasts.getByText('nightly-verify runs automatically again.', { exact: true }).first();
    await again.waitFor();
    await page.clock.fastForward(7000);
    await again.waitFor({ state: 'detached' });
  });

  it('moves nothing under the pointer while its data is read again', async () => {
    const world = await visit();
    const { page } = await openWithClock(world);
    const open = new Set<Request>();
    page.on('request', (request) => open.add(request));
    page.on('requestfinished', (request) => open.delete(request));
    page.on('requestfailed', (request) => open.delete(request));
    await page.evaluate(WATCH_SHIFTS);
    const shifts: Record<string, unknown> = {};
    for (const hash of world.addresses) {
      await showPage(page, world, hash);
      // A search waits a moment before it asks.
      await page.clock.runFor(1000);
      const waits = page.locator('main [aria-busy=true]');
      await expect.poll(async () => [open.size, await waits.count()]).toEqual([0, 0]);
      await openHash(page, world, hash);
      await page.evaluate('globalThis.shifts.length = 0');
      const asked = page.waitForRequest((request) => isData(new URL(request.url())));
      // All lists but the longest are read again by then.
      await page.clock.fastForward(16_000);
      await asked;
      await expect.poll(() => open.size).toBe(0);
      await openHash(page, world, hash);
      const found = (await page.evaluate('globalThis.shifts')) as readonly unknown[];
      if (found.length > 0) shifts[hash] = found;
    }
    expect(shifts).toEqual({});
  });

  it.each(['translate', 'review', 'publish', 'operate'] as const)(
    'offers a token of the scope %s only what it may do',
    async (person) => {
      const world = await visit();
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
    const world = await visit();
    const { page } = await openConsole(world, '#/translate', { viewport: PHONE });
    await showPage(page, world, '#/translate');
    await page.evaluate(`document.querySelector('.tabs').style.width = '100px'`);
    await page.evaluate(`document.querySelector('h1').style.cssText = 'width: 20px; white-space: nowrap'`);
    await page.evaluate(`document.querySelector('main select').style.width = '40px'`);
    const found = (await layoutFaults(page)).join('\n');
    expect(found).toContain('cut by .tabs: a "Machine translation"');
    expect(found).toContain('does not hold its text: h1 "Queue"');
    expect(found).toMatch(/does not hold its text: select/);
  });

  it('has texts whose colours are examined, also those of a single row', async () => {
    const world = await visit();
    const { page, violations } = await openConsole(world, '#/tasks');
    await showPage(page, world, '#/tasks');
    expect(await violations('colours')).toEqual([]);
    const row = `[...document.querySelectorAll('main [role=row], main tr')].at(-1).lastElementChild`;
    await page.evaluate(`${row}.style.cssText = 'color: #bbb; background: #fff'`);
    await page.evaluate(`${row}.textContent = 'pale'`);
    expect((await violations('colours')).join()).toMatch(/^color-contrast: <[^>]*>pale</);
  });
});
