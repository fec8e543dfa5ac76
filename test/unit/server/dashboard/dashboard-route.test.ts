import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDashboardFiles } from '../../../../src/server/dashboard/dashboard-files.ts';
import { startTestServer } from '../../../support/start-test-server.ts';

const ASSETS = resolve(import.meta.dirname, '../../../../src/server/dashboard/assets');

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const { url } = await startTestServer({ refresh: false });
  return await fetch(`${url}${path}`, { redirect: 'manual', ...init });
}

describe('the dashboard', () => {
  it('is a public page, with any query', async () => {
    const response = await ask('/admin/dashboard/?svc_token=a&svc_token=b&anything');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await response.text()).toBe(readFileSync(join(ASSETS, 'index.html'), 'utf8'));
  });

  it('redirects from the path without the slash, and drops the query', async () => {
    const response = await ask('/admin/dashboard?svc_token=a');
    expect([response.status, response.headers.get('location')]).toEqual([308, '/admin/dashboard/']);
  });

  it('lets the page load only from this server, run no inline script and create no markup from text', async () => {
    for (const path of ['/admin/dashboard/', '/admin/dashboard/main.js', '/admin/dashboard/nothing.js']) {
      const { headers } = await ask(path);
      const policy = headers.get('content-security-policy') ?? '';
      const directives = new Map(policy.split('; ').map((each) => [each.split(' ')[0], each]));
      expect(directives.get('default-src')).toBe("default-src 'none'");
      expect(directives.get('script-src')).toBe("script-src 'self'");
      expect(directives.get('connect-src')).toBe("connect-src 'self'");
      expect(directives.get('form-action')).toBe("form-action 'none'");
      expect(directives.get('frame-ancestors')).toBe("frame-ancestors 'none'");
      expect(directives.get('require-trusted-types-for')).toBe("require-trusted-types-for 'script'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    }
  });

  it('is revalidated each time and sent again only when it has changed', async () => {
    const { url } = await startTestServer({ refresh: false });
    const path = `${url}/admin/dashboard/style.css`;
    const first = await fetch(path);
    const etag = first.headers.get('etag') ?? '';
    expect([first.headers.get('cache-control'), etag]).toEqual([
      'no-cache',
      expect.stringMatching(/^"[\w-]{43}"$/),
    ]);
    const second = await fetch(path, { headers: { 'if-none-match': etag } });
    expect([second.status, second.headers.get('content-length'), await second.text()]).toEqual([
      304,
      null,
      '',
    ]);
    const other = await fetch(path, { headers: { 'if-match': '"other"' } });
    expect([other.status, ((await other.json()) as { code: string }).code]).toEqual([
      412,
      'precondition_failed',
    ]);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])(
    'refuses %s and names the allowed methods',
    async (method) => {
      const response = await ask('/admin/dashboard/', { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    },
  );

  it('answers HEAD with only the head', async () => {
    const response = await ask('/admin/dashboard/main.js', { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100);
  });

  it.each([
    'package.json',
    '../app.js',
    '%2e%2e/app.js',
    'tsconfig.json',
    'wire.d.ts',
    'preact.d.ts',
    'index.html',
  ])('has no file %s', async (name) => {
    const { url } = await startTestServer({ refresh: false });
    const response = await fetch(new URL(`${url}/admin/dashboard/${name}`));
    expect([404, 401]).toContain(response.status);
  });

  it('serves every file that its files refer to', async () => {
    const files = await readDashboardFiles();
    const scripts = globSync('*.js', { cwd: ASSETS }).map((name) => readFileSync(join(ASSETS, name), 'utf8'));
    const page = readFileSync(join(ASSETS, 'index.html'), 'utf8');
    const imported = scripts.flatMap((text) => [
      ...text.matchAll(/^(?:import|\} from|export .* from).*'\.\/([^']+)'/gm),
    ]);
    const linked = [...page.matchAll(/(?:src|href)="([^"]+)"/g)];
    const wanted = new Set([...imported, ...linked].map(([, name = '']) => name));
    expect(wanted.size).toBeGreaterThan(15);
    expect([...wanted].filter((name) => !files.has(name))).toEqual([]);
  });

  it('never turns text into markup, code or a request to another site', () => {
    const forbidden =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\b|new Function|localStorage|https?:\/\/(?!www\.w3\.org)/;
    for (const name of globSync('*.{js,html,css,svg}', { cwd: ASSETS })) {
      expect([name, forbidden.exec(readFileSync(join(ASSETS, name), 'utf8'))?.[0]]).toEqual([
        name,
        undefined,
      ]);
    }
  });
});
