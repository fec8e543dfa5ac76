import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import sirv from 'sirv';
import { describe, expect, it } from 'vitest';
import { PHONE, openPage, type Look, type TestPage } from '../../support/browser.ts';
import { nodeTools } from '../../support/node-tools.ts';
import { sharedFixture } from '../../support/shared-fixture.ts';
import { hasTool } from '../../support/tools.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

describe.skipIf(!hasTool('chromium') || nodeTools('docs-tools') === null)('the documentation site', () => {
  /** Builds the site, and serves it as any static server would. */
  const shared = sharedFixture(async (atEnd) => {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-docs-site-'));
    atEnd(async () => {
      await rm(folder, { recursive: true, force: true });
    });
    const build = await run(process.execPath, ['scripts/docs-site.ts', '--out', folder], { cwd: ROOT });
    const server = createServer(sirv(folder));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The server has no port.');
    return { url: `http://127.0.0.1:${address.port}`, output: build.stdout };
  });

  const visit = async (path: string, look?: Look): Promise<TestPage & { readonly url: string }> => {
    const { url } = shared();
    const opened = await openPage(look);
    await opened.page.goto(`${url}${path}`);
    // A key or a click before Vue has taken over the page would be lost.
    await opened.page.waitForFunction("document.querySelector('#app')?.__vue_app__ !== undefined");
    return { ...opened, url };
  };

  it('has the pages of the repository, and each link of them has a target', () => {
    const { output } = shared();
    const [, pages] = /^(\d+) pages in /m.exec(output) ?? [];
    expect(Number(pages)).toBeGreaterThan(170);
  });

  it('leads from its home to a guide and to the reference, and asks no other host', async () => {
    const { page, url, requests, troubles, screenshot } = await visit('/');
    await page.getByRole('heading', { level: 1, name: 'Slipway' }).waitFor();
    await screenshot('site-home');
    const sidebar = page.getByRole('navigation', { name: 'Sidebar' });
    await sidebar.getByRole('button', { name: 'Setting up' }).click();
    await sidebar.getByRole('link', { name: 'Serve from edges' }).click();
    await page.getByRole('heading', { level: 1, name: 'Serve from edges' }).waitFor();
    await screenshot('site-guide');
    await page.goto(`${url}/reference/api.html`);
    await page.getByText('/v1/bootstrap', { exact: true }).waitFor();
    await screenshot('site-api');
    expect(requests.map((request) => request.url()).filter((each) => !each.startsWith(url))).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it('finds the page of a term', async () => {
    const { page } = await visit('/');
    await page.keyboard.press('Control+k');
    await page.getByRole('searchbox').fill('AttestationExpired');
    await page
      .getByRole('option', { name: /AttestationExpired/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'AttestationExpired' }).first().waitFor();
  });

  it('draws diagrams in light and in dark', async () => {
    const drawings = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, troubles, screenshot } = await visit('/explanation/how-a-release-flows.html', {
        colorScheme,
      });
      await page.locator('.diagram svg').first().waitFor();
      await screenshot(`site-${colorScheme}`);
      drawings.push(await page.locator('.diagram').first().innerHTML());
      expect(troubles).toEqual([]);
    }
    expect(drawings[0]).not.toBe(drawings[1]);
  });

  it('can be read by everyone, on a phone too', async () => {
    const { page, violations, screenshot } = await visit('/how-to/operate.html', { viewport: PHONE });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await screenshot('site-phone');
    expect(await violations()).toEqual([]);
  });
});
