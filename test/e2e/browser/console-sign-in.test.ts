import { Events, OAuth2Server } from 'oauth2-mock-server';
import { describe, expect, it } from 'vitest';
import { cspReports, openPage } from '../../support/browser.ts';
import { CONSOLE_TOKEN, logIn, startConsoleSystem } from '../../support/console-system.ts';
import { ctl } from '../../support/ctl.ts';
import { reusedFixture } from '../../support/shared-fixture.ts';
import { builtSignInProxy, startSignInProxy } from '../../support/sign-in-proxy.ts';
import { hasTool } from '../../support/tools.ts';

const proxy = builtSignInProxy();
const PAGE = '/admin/dashboard/';
const KANA = 'kana@example.org';
const BEARER = { authorization: `Bearer ${CONSOLE_TOKEN}` };

describe.skipIf(proxy === null || !hasTool('chromium'))(
  'the console behind a proxy that people sign in to',
  () => {
    const reused = reusedFixture(async (atEnd) => {
      const provider = new OAuth2Server();
      await provider.issuer.keys.generate('RS256');
      await provider.start(0, '127.0.0.1');
      atEnd(async () => {
        await provider.stop();
      });
      /** Who the provider says that everybody is; without an address, nobody is signed in to it. */
      const person = { email: KANA };
      provider.service.on(Events.BeforeTokenSigning, ({ payload }) => {
        Object.assign(payload, person, { email_verified: true });
      });
      provider.service.on(Events.BeforeAuthorizeRedirect, ({ url }) => {
        if (person.email !== '') return;
        url.searchParams.delete('code');
        url.searchParams.set('error', 'login_required');
      });
      const system = await startConsoleSystem({ atEnd });
      await system.untilReady(true);
      const parts = { issuer: provider.issuer.url ?? '', upstream: system.serverUrl };
      const url = await startSignInProxy(proxy ?? '', parts, atEnd);
      const fromBuild = await startSignInProxy(
        proxy ?? '',
        { ...parts, more: 'trusted_proxy_ips = ["10.0.0.1"]\ntrusted_ips = ["127.0.0.1"]\n' },
        atEnd,
      );
      return { system, person, url, fromBuild, issuer: parts.issuer };
    });

    it('opens nothing without a sign-in, not even with a token', async () => {
      const { url, issuer } = await reused();
      const page = await fetch(`${url}${PAGE}`, { redirect: 'manual' });
      expect(page.status).toBe(302);
      expect(page.headers.get('location')).toContain(`${issuer}/authorize?`);
      const report = await fetch(`${url}/admin/`, { headers: { ...BEARER, accept: 'application/json' } });
      expect([report.status, await report.text()]).toEqual([401, '{}']);
    });

    it('opens to people who have signed in and entered their token, and runs their actions', async () => {
      const { url, issuer } = await reused();
      const opened = await openPage();
      const { page, context, requests } = opened;
      await page.goto(`${url}${PAGE}#/tasks`);
      expect(requests.some((request) => request.url().startsWith(`${issuer}/authorize?`))).toBe(true);
      // The fragment, which no server sees, is kept through the sign-in.
      expect(page.url()).toBe(`${url}${PAGE}#/tasks`);
      await logIn(opened);
      await page.goto(`${url}${PAGE}#/overview`);
      await page.getByText('r90_one').first().waitFor();
      await page.goto(`${url}${PAGE}#/actions`);
      await page.getByRole('button', { name: 'Run … sync', exact: true }).click();
      await page.getByRole('button', { name: 'Sync now' }).click();
      await page.getByText('The task has ended.').waitFor();
      const own = requests.filter((request) => request.url().startsWith(`${url}/admin/tasks`));
      expect(new Set(own.map((request) => request.headers()['authorization']))).toEqual(
        new Set([BEARER.authorization]),
      );
      expect([...opened.troubles, ...(await cspReports(page))]).toEqual([]);
      const cookies = (await context.cookies()).filter(({ name }) => !name.endsWith('_csrf'));
      expect(cookies).toMatchObject([
        { name: '__Host-slipway-console', httpOnly: true, secure: true, path: '/' },
      ]);
      expect(cookies[0]?.value.length).toBeLessThan(1024);
    });

    it('says who must sign in again, keeps the token meanwhile, and continues automatically', async () => {
      const { url, issuer, person } = await reused();
      const opened = await openPage();
      const { page, context } = opened;
      await page.goto(`${url}${PAGE}`);
      await logIn(opened);
      const other = await context.newPage();
      // The session ends here and at the provider, as in the guide.
      const logout = `${issuer}/endsession?post_logout_redirect_uri=${encodeURIComponent(`${url}/ping`)}`;
      person.email = '';
      await other.goto(`${url}/oauth2/sign_out?rd=${encodeURIComponent(logout)}`);
      expect(other.url()).toBe(`${url}/ping`);
      await page.getByText('You are signed out').first().waitFor();
      await page.getByText('Do so in another tab').first().waitFor();
      expect(await page.getByLabel('Access token').count()).toBe(0);
      person.email = KANA;
      await other.goto(`${url}${PAGE}`);
      await page.locator('.verdict-bar .verdict.ok').first().waitFor();
      expect(opened.troubles).toEqual([]);
    });

    it('opens to nobody of another organisation', async () => {
      const { url, person } = await reused();
      const { page } = await openPage();
      person.email = 'eve@example.com';
      const answer = await page.goto(`${url}${PAGE}`);
      person.email = KANA;
      expect(answer?.status()).toBe(403);
      expect(await page.getByLabel('Access token').count()).toBe(0);
    });

    it('slipway ctl names the proxy, and works from a network that need not sign in', async () => {
      const { url, fromBuild } = await reused();
      const env = { SLIPWAY_CTL_TOKEN: CONSOLE_TOKEN };
      const kept = await ctl(['--url', url, 'status'], { env });
      expect(kept).toMatchObject({ code: 3, out: '' });
      expect(kept.err).toContain('a proxy in front of it wants a sign-in');
      const passed = await ctl(['--url', fromBuild, 'status'], { env });
      expect(passed).toMatchObject({ code: 0, err: '' });
      expect(passed.out).toContain('r90_one');
      expect((await fetch(`${fromBuild}/admin/`)).status).toBe(401);
    });
  },
);
