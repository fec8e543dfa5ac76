import { describe, expect, it } from 'vitest';
import { DESKTOP, PHONE } from '../../support/browser.ts';
import { openConsole } from '../../support/console-page.ts';
import { consoleAddresses, showPage } from '../../support/console-pages.ts';
import { consoleToken, startConsoleWorld } from '../../support/console-world.ts';
import { logIn } from '../../support/console-system.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const LOOKS = [
  { viewport: DESKTOP, colorScheme: 'light' },
  { viewport: DESKTOP, colorScheme: 'dark' },
  { viewport: PHONE, colorScheme: 'light' },
  { viewport: PHONE, colorScheme: 'dark' },
] as const;
const HOURS_MS = 3 * 60 * 60 * 1000;

/** Whether a request asks for data, and not for the files of the page. */
const isData = ({ pathname }: URL): boolean =>
  !pathname.startsWith('/admin/dashboard/') && /^\/(?:admin|healthz|readyz)/.test(pathname);

describe.skipIf(!hasTool('chromium'))('every page of the console', () => {
  const reused = reusedFixture(async (atEnd) => await startConsoleWorld({ atEnd }));

  it.each(LOOKS)(
    'has no finding of axe-core, fits the screen and causes no trouble ($colorScheme, $viewport.width px)',
    async (look) => {
      const world = await reused();
      const { page, troubles, violations } = await openConsole(world, '', look);
      const findings: Record<string, unknown> = {};
      for (const hash of await consoleAddresses(page, world)) {
        await showPage(page, world, hash);
        const found = await violations();
        const overflow = (await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        )) as number;
        if (found.length > 0 || overflow > 0) findings[hash] = { found, overflow };
      }
      expect(findings).toEqual({});
      expect(troubles).toEqual([]);
    },
  );

  it('has one heading of the first level, the verdict, and a list of its keys', async () => {
    const world = await reused();
    const { page } = await openConsole(world, '');
    for (const hash of await consoleAddresses(page, world)) {
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
    const all = await consoleAddresses(page, world);
    await page.context().route(isData, async (route) => {
      await route.abort();
    });
    await page.locator('.verdict-bar .unknown').first().waitFor();
    for (const hash of all) {
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
    for (const hash of await consoleAddresses(page, world)) {
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
});
