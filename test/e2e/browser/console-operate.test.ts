import { rm } from 'node:fs/promises';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { DESKTOP, openPage, PHONE, type TestPage } from '../../support/browser.ts';
import { tellState } from '../../support/console-answers.ts';
import {
  logIn,
  openConsoleSystem,
  startConsoleSystem,
  type ConsoleSystem,
} from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

/** States that real processes reach only after long or in a broken machine; each replaces members of the real `/healthz`. */
const STATES = [
  {
    name: 'expired',
    service: {
      state: 'expired',
      reason: 'AttestationExpired',
      message: 'the attestation has expired',
      next_step: { text: 'Read the check "attestation" of the doctor, then run refresh.', action: 'refresh' },
    },
    title: 'The official release is not being served',
    button: 'Renew the attestation',
    command: 'slipway ctl run refresh --wait',
  },
  {
    name: 'volume-full',
    service: {
      state: 'degraded',
      reason: 'VolumeFull',
      message: 'the snapshot volume has no free space',
      next_step: { text: 'Run release-cleanup, or enlarge the snapshot volume.', action: 'release-cleanup' },
    },
    title: 'but something needs attention',
    // A cleanup that frees nothing is no remedy.
    button: null,
    command: null,
    said: /^200\.0 MiB of 120\.0 GiB are free\. A cleanup frees nothing: /,
  },
  {
    name: 'syncing',
    service: {
      state: 'starting',
      reason: 'Syncing',
      message: 'the first sync runs',
      next_step: { text: 'Wait for the end of the sync.', action: null },
    },
    title: 'The service is starting',
    button: null,
    command: null,
  },
  {
    name: 'never-synced',
    service: {
      state: 'unpublished',
      reason: 'NeverSynced',
      message: 'no official release was ever synced',
      next_step: { text: 'Run sync.', action: 'sync' },
    },
    title: 'No release yet',
    button: 'Sync now',
    command: 'slipway ctl run sync --wait',
  },
  {
    name: 'localized-stale',
    service: {
      state: 'degraded',
      reason: 'BaseReleaseChanged',
      message: 'localized release r1-l1 was made for r1, and r2 is current',
      next_step: {
        text: 'Publish a localized release for the current official one.',
        action: 'localized-publish',
      },
    },
    isStale: true,
    title: 'but the localized channel is not',
    button: 'Publish a localized release',
    command: 'slipway ctl run localized-publish from_worker=true --wait',
  },
] as const;

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

const FULL_VOLUME = {
  measured_at: 1_800_000_000,
  total_bytes: 120 * GIB,
  free_bytes: 200 * MIB,
  current_bytes: 80 * GIB,
  retained_bytes: 39 * GIB,
  reclaimable_bytes: 0,
  quarantine_bytes: 0,
};

/** Tells a day that a server needs a day for: traffic, one bad minute, a scrub, a volume in use and a long sync. */
async function tellDay(page: Page): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const minutes = 1440;
  const each = <T>(usual: T, bad: T): T[] =>
    Array.from({ length: minutes }, (_, minute) => (minute === 700 ? bad : usual));
  await changeJson(page, '/admin/', () => ({
    history: {
      server: 'server-of-a-day',
      from: now - minutes * 60,
      requests: each(100, 100),
      server_errors: each(0, 50),
      sent_bytes: each(2400 * MIB, 60 * MIB),
      states: { official: each('healthy', 'damaged'), localized: each('unpublished', 'unpublished') },
    },
    scrub: { pass: 3, share: 0.78, damage_found: 2, damage_in_pass: 1, completed_at: now - 43_200 },
  }));
  await changeJson(page, '/admin/diagnostics', () => ({
    storage: {
      measured_at: now,
      total_bytes: 120 * GIB,
      free_bytes: 61 * GIB,
      current_bytes: 41 * GIB,
      retained_bytes: 12 * GIB,
      reclaimable_bytes: 3 * GIB,
      quarantine_bytes: 0,
    },
  }));
  const samples = Array.from({ length: 42 }, (_, second) => ({
    at: now - 60 + second,
    done: second * 30 * MIB,
  }));
  await changeJson(page, '/admin/tasks/status', () => ({
    course: [{ phase: 'fetch', unit: 'bytes', total: 41 * 30 * MIB, samples }],
  }));
}

/** Replaces members of the answer to a path. */
async function changeJson(page: Page, path: string, change: () => object): Promise<void> {
  await page.route(
    ({ pathname }) => pathname === path,
    async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), ...change() } });
    },
  );
}

/** Expects no violation, and nothing that makes the page wider. */
async function expectSound(
  { page, violations }: TestPage,
  place: string,
  rules: 'all' | 'colours' = 'all',
): Promise<void> {
  const sideways = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  expect([place, sideways, await violations(rules)]).toEqual([place, 0, []]);
}

async function removeOneObject(system: ConsoleSystem): Promise<void> {
  const objects = globSync('objects/*/*', { cwd: system.snapshotRoot });
  await rm(join(system.snapshotRoot, objects.find((name) => !name.endsWith('.blocks')) ?? ''));
  await system.run('verify');
}

describe.skipIf(!hasTool('chromium'))('Operate shows a service', () => {
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return system;
  });

  it('that is healthy: the channels, the day, the volume and the sync', async () => {
    const { consoleUrl } = await reused();
    const { page, troubles } = await openConsoleSystem(consoleUrl);
    await page.getByRole('heading', { name: 'Official Served' }).waitFor();
    await page.getByRole('img', { name: /^The attestation expires in \d+ min/ }).waitFor();
    await page.getByRole('img', { name: /^Official, last 24 hours: .*no record for/ }).waitFor();
    await page.getByText(/^Recorded by .+ since /).waitFor();
    await page.getByRole('link', { name: 'Last sync' }).waitFor();
    await page
      .getByRole('listitem')
      .filter({ hasText: /^Current/ })
      .waitFor();
    await page.getByText(/^\d+ of \d+ checks are ok\./).waitFor();
    expect(await page.locator('.incident').count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  it('that has worked for a day: the traffic, the failures, the space, the scrub, the sync and what comes next', async () => {
    const { consoleUrl } = await reused();
    const opened = await openPage();
    const { page } = opened;
    await tellDay(page);
    await page.goto(consoleUrl);
    await logIn(opened);
    await page
      .getByRole('img', { name: /^Bytes served, since .+: last 40\.0 MiB\/s, lowest .+, highest / })
      .waitFor();
    await page
      .getByRole('img', { name: /^5xx responses to clients, since .+: last 0 %, .+, highest 50 %/ })
      .waitFor();
    await page.getByRole('img', { name: /^Official, last 24 hours: .*damaged/i }).waitFor();
    await page
      .getByText(/^Recorded by server-of-a-day since .+: 144,000 client requests .+, 50 of them/)
      .waitFor();
    await page
      .getByText(/61\.0 GiB/)
      .first()
      .waitFor();
    await page.getByText(/A cleanup frees 3\.0 GiB more/).waitFor();
    await page.getByRole('button', { name: 'Clean up …' }).waitFor();
    const scrub = page.getByRole('region', { name: 'Scrub' });
    expect(await scrub.getByRole('progressbar').getAttribute('value')).toBe('0.78');
    await scrub.getByText('78 % of pass 3 · 1 damaged so far, 2 since the server started').waitFor();
    await page
      .getByRole('img', { name: /^Speed of the fetch: mean .+\/s, highest .+\/s, over 4\d s/ })
      .waitFor();
    const next = page.getByRole('region', { name: 'Next runs' }).getByRole('listitem');
    await next.first().waitFor();
    await expect.poll(async () => await next.filter({ hasNot: page.locator('time') }).count()).toBe(0);
    await expectSound(opened, 'a day');
    expect(opened.troubles).toEqual([]);
  });

  it('with the keyboard alone: its history as a table, and its data as JSON with the command for it', async () => {
    const { consoleUrl } = await reused();
    const { page, violations } = await openConsoleSystem(consoleUrl);
    await page.getByText('As a table: Official').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('cell', { name: 'No record' }).first().waitFor();
    await page.getByRole('button', { name: 'JSON of Sync' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'JSON of Sync' });
    await dialog.getByText('slipway ctl report release.status', { exact: true }).waitFor();
    await dialog.getByText('"report": "release.status"').waitFor();
    expect(await violations()).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect
      .poll(async () => await page.evaluate('document.activeElement.textContent'))
      .toBe('</> JSON of Sync');
  });

  it.each(STATES)(
    'that is $name: one cause, told once, one remedy',
    async ({ service, title, button, command, name, ...more }) => {
      const { consoleUrl } = await reused();
      const opened = await openPage();
      const { page } = opened;
      const caused = [{ what: 'syncs', since: 1_800_000_000 }];
      await tellState(page, { ...service, caused }, 'isStale' in more);
      await changeJson(page, '/admin/diagnostics', () => ({ storage: FULL_VOLUME }));
      await page.goto(consoleUrl);
      await logIn(opened);
      const incident = page.getByRole('region', { name: title });
      if ('said' in more) await incident.getByText(more.said).waitFor();
      await incident.getByText(`(${service.reason})`).waitFor();
      await page.locator('.tiles').waitFor();
      const told = page.locator('main').getByText(service.message);
      await expect.poll(async () => await told.count()).toBe(1);
      await expect
        .poll(async () => await incident.locator('.copy-line code').allTextContents())
        .toEqual(command === null ? [] : [command]);
      await incident.getByText(/^1 more unknown since 2027-01-1\d \d\d:\d\d:\d\d$/).waitFor();
      await incident.getByText('Effect on clients').click();
      await incident.getByText(service.state === 'degraded' ? /^Served, and/ : /^Not served/).waitFor();
      await incident.getByText('Runbook', { exact: true }).click();
      await incident.getByRole('heading', { name: 'First command' }).waitFor();
      const runbook = await incident.getByRole('link', { name: /^Runbook/ }).getAttribute('href');
      expect(runbook).toBe(`/admin/dashboard/runbooks/${service.reason}`);
      await expect
        .poll(async () => await page.locator('button.primary').allTextContents())
        .toEqual(button === null ? [] : [button]);
      await opened.screenshot(`incident-${name}`, { fullPage: true });
      await expectSound(opened, name);
    },
  );

  it('whose cause ends while its remedy is open, and says so there', async () => {
    const { consoleUrl } = await reused();
    const opened = await openPage();
    const { page } = opened;
    const state = STATES.find(({ name }) => name === 'never-synced');
    await tellState(page, { ...state?.service, caused: [] });
    await page.goto(consoleUrl);
    await logIn(opened);
    await page.locator('.incident').getByRole('button', { name: 'Sync now' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sync now' });
    await dialog.waitFor();
    expect(await dialog.getByRole('status').count()).toBe(0);
    await tellState(page, {});
    await dialog.getByText(/^This has ended meanwhile\. Release .+ is being served\./).waitFor();
    await expectSound(opened, 'healed');
  });

  it('as it is when the clock of the browser is wrong', async () => {
    const { consoleUrl } = await reused();
    const opened = await openPage();
    const { page } = opened;
    await page.clock.setSystemTime(Date.now() + 3 * 3_600_000);
    await page.goto(consoleUrl);
    await logIn(opened);
    await page.getByRole('img', { name: /^The attestation expires in \d+ min/ }).waitFor();
    await page.getByText(/became healthy (?:now|\d+ (?:s|min) ago)/).waitFor();
  });

  it('whose names are long, hostile and of both directions, without breaking its layout', async () => {
    const { consoleUrl } = await reused();
    const opened = await openPage({ viewport: PHONE });
    const { page } = opened;
    const hostile = `<img src=x onerror=alert(1)>\u202E\u0627\u0644${'W'.repeat(10_000)}`;
    await tellState(page, {
      state: 'damaged',
      reason: 'EntryDamaged',
      message: hostile,
      next_step: { text: 'Run repair.', action: 'repair' },
    });
    await page.route('**/admin/releases/status', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { readonly official: object };
      const official = { ...body.official, release_id: hostile, damaged: [hostile], damaged_count: 5 };
      await route.fulfill({ response, json: { ...body, official } });
    });
    await page.goto(consoleUrl);
    await logIn(opened);
    await page.getByRole('button', { name: 'Repair 5 files' }).waitFor();
    await page.getByText('and 4 more, see').waitFor();
    await expectSound(opened, 'hostile');
    expect(await page.locator('[onerror]').count()).toBe(0);
    expect(opened.troubles).toEqual([]);
  });

  it('and filters its tasks by the address', async () => {
    const system = await reused();
    await system.run('verify');
    const { page } = await openConsoleSystem(system.consoleUrl);
    await page.goto(`${system.consoleUrl}#/tasks?kind=verify&status=succeeded`);
    await page.getByRole('rowheader', { name: 'Verify releases' }).first().waitFor();
    expect(await page.getByRole('rowheader', { name: 'Sync now' }).count()).toBe(0);
    await page.getByLabel('Kind').selectOption('sync');
    await page.getByRole('rowheader', { name: 'Sync now' }).first().waitFor();
    await expect.poll(() => page.url()).toContain('kind=sync');
    await page.getByLabel('Status').selectOption('failed');
    await page.getByText('No task matches the filters.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByRole('rowheader', { name: 'Verify releases' }).first().waitFor();
    await expect.poll(() => page.url()).not.toContain('kind');
  });
});

describe.skipIf(!hasTool('chromium'))('Operate mends a service', () => {
  /** Each test repairs what it breaks. */
  const reused = reusedFixture(async (atEnd) => {
    const system = await startConsoleSystem({ atEnd });
    await system.untilReady(true);
    return system;
  });

  it('that is damaged: names the file, repairs it, and shows the tiles again', async () => {
    const system = await reused();
    await removeOneObject(system);
    for (const viewport of [DESKTOP, PHONE]) {
      const opened = await openPage({ viewport });
      await opened.page.goto(system.consoleUrl);
      await logIn(opened);
      await opened.page.getByText('1 file is damaged or missing:').waitFor();
      await opened.page.getByText('No active tasks').waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await opened.page.emulateMedia({ colorScheme });
        const name = `incident-damaged-${colorScheme}-${viewport.width}`;
        await opened.screenshot(name, { fullPage: true });
        await expectSound(opened, name, colorScheme === 'light' ? 'all' : 'colours');
      }
    }
    const { page, troubles } = await openConsoleSystem(system.consoleUrl);
    await page.getByText('On the command line').click();
    await page.getByText('slipway ctl run repair args=release_id=r90_one --wait').waitFor();
    await page.getByRole('button', { name: 'Repair 1 file' }).click();
    await page.getByRole('button', { name: 'Repair releases' }).click();
    await page.getByText('The task has ended.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Official Served' }).waitFor();
    expect(troubles).toEqual([]);
  });

  it('whose daemon is away: everything that it knows is folded, and opens as it was', async () => {
    const system = await reused();
    const opened = await openConsoleSystem(system.consoleUrl);
    const { page } = opened;
    await page.getByText('No active tasks').waitFor();
    // Each panel has a report of its own; one whose report has not arrived has nothing to fold.
    const storage = page.getByRole('region', { name: 'Storage' });
    await storage.getByText('Reclaimable').waitFor();
    await system.daemon.kill();
    await storage.getByText(/ Unknown since \d\d:\d\d:\d\d$/).waitFor();
    await expect.poll(async () => await storage.getByText('Reclaimable').isVisible()).toBe(false);
    await page
      .getByRole('region', { name: 'Running now' })
      .getByText(/ Unknown since \d\d:\d\d:\d\d$/)
      .waitFor();
    await storage.getByText(/^As it was .* ago$/).click();
    await storage.getByText('Reclaimable').waitFor();
    // No button can start a daemon that is away.
    expect(await page.locator('.incident button.primary').count()).toBe(0);
    await expect
      .poll(async () => await page.getByRole('button', { name: 'Sync now' }).isDisabled())
      .toBe(true);
    await opened.screenshot('incident-daemon-away', { fullPage: true });
    await expectSound(opened, 'daemon away');
    await system.startDaemon();
    await page.locator('.incident').waitFor({ state: 'detached' });
  });

  it('whose sync failed: why, what to do, and another try with the same arguments', async () => {
    const system = await startConsoleSystem({
      upstream: { kind: 'directory', directory: { path: '/nonexistent/upstream' } },
      daemon: { sync: { onStart: false } },
    });
    const failed = await system.run('sync', { force: true });
    expect(failed.status).toBe('failed');
    const opened = await openConsoleSystem(system.consoleUrl);
    const { page } = opened;
    await page.goto(`${system.consoleUrl}#/tasks/${failed.task_id}`);
    const note = page.locator('.note.bad');
    await note.getByText(failed.failure_code ?? '', { exact: true }).waitFor();
    await note
      .getByText(failed.failure_reason ?? '')
      .first()
      .waitFor();
    await opened.screenshot('task-failed', { fullPage: true });
    await expectSound(opened, 'failed task');
    await page.getByRole('button', { name: 'Try again … sync' }).click();
    await expect.poll(async () => await page.getByLabel(/^Do it anyway/).isChecked()).toBe(true);
  });
});
