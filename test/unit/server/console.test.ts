import { globSync, readFileSync } from 'node:fs';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SERVICE_REASONS } from '../../../src/domain/service-state/service-reasons.ts';
import { REASONS } from '../../../src/domain/verdict/reasons.ts';
import type { Logger } from '../../../src/platform/logging/logging.ts';
import { loadConsole, readConsoleFiles } from '../../../src/server/console/console-files.ts';
import { rawRequest, type RawAnswer } from '../../support/raw-http.ts';
import { startTestServer } from '../../support/start-test-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const BUILT = join(ROOT, '.console');

interface Manifest {
  readonly files: readonly string[];
  readonly first: readonly string[];
}

const MANIFEST = JSON.parse(readFileSync(join(BUILT, 'manifest.json'), 'utf8')) as Manifest;
/** Without the runbooks, which may name other addresses in their text. */
const APPLICATION = MANIFEST.files.filter((name) => !name.startsWith('runbooks/'));

/** The name of a built file: the first one that begins so. */
function built(beginning: string): string {
  return MANIFEST.files.find((name) => name.startsWith(beginning)) ?? '';
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const { url } = await startTestServer({ refresh: false });
  return await fetch(`${url}${path}`, { redirect: 'manual', ...init });
}

describe('the console', () => {
  it('is a public page, with any query', async () => {
    const response = await ask('/admin/dashboard/?svc_token=a&svc_token=b&anything');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(await response.text()).toBe(readFileSync(join(BUILT, 'index.html'), 'utf8'));
  });

  it('redirects from the path without the slash, and drops the query', async () => {
    const response = await ask('/admin/dashboard?svc_token=a');
    expect([response.status, response.headers.get('location')]).toEqual([308, 'dashboard/']);
    expect(new URL('dashboard/', 'https://x.example/prefix/admin/dashboard').pathname).toBe(
      '/prefix/admin/dashboard/',
    );
  });

  it('lets the page load only from this server, run no inline script and create no markup from text', async () => {
    for (const path of [
      '/admin/dashboard/',
      `/admin/dashboard/${built('main-')}`,
      '/admin/dashboard/nothing.js',
    ]) {
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
    const path = `${url}/admin/dashboard/`;
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
    const response = await ask(`/admin/dashboard/${built('main-')}`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100);
  });

  it.each([
    'package.json',
    '../app.js',
    '%2e%2e/app.js',
    'manifest.json',
    'main.js.br',
    'tsconfig.json',
    'index.html',
  ])('has no file %s', async (name) => {
    const { url } = await startTestServer({ refresh: false });
    const response = await fetch(new URL(`${url}/admin/dashboard/${name}`));
    expect([404, 401]).toContain(response.status);
  });

  it('serves every file that its files refer to', async () => {
    const files = await readConsoleFiles();
    const texts = APPLICATION.map((name) => readFileSync(join(BUILT, name), 'utf8'));
    const wanted = new Set(
      texts.flatMap((text) => [
        ...[...text.matchAll(/\b(?:from|import)\s*\(?\s*"\.\/([^"]+)"/g)].map(([, name = '']) => name),
        ...[...text.matchAll(/(?:src|href)="([\w.-]+)"/g)].map(([, name = '']) => name),
      ]),
    );
    expect(wanted.size).toBeGreaterThan(15);
    expect([...wanted].filter((name) => !files.has(name))).toEqual([]);
  });

  it('lets caches keep the files that are named by their content, and only those', async () => {
    const { url } = await startTestServer({ refresh: false });
    const kept = await Promise.all(
      [...(await readConsoleFiles()).keys()].map(async (name) => {
        const response = await fetch(`${url}/admin/dashboard/${name}`);
        return [name, response.headers.get('cache-control')] as const;
      }),
    );
    const isHashed = (name: string): boolean => /\.(?:js|css)$/.test(name);
    expect(kept.filter(([name]) => isHashed(name)).length).toBeGreaterThan(10);
    expect(kept).toEqual(
      kept.map(([name]) => [name, isHashed(name) ? 'public, max-age=31536000, immutable' : 'no-cache']),
    );
  });

  it('sends each file in the coding that the client prefers, each with its own tag', async () => {
    const { url } = await startTestServer({ refresh: false });
    for (const name of [
      '',
      built('main-'),
      built('style-'),
      'outline.json',
      'forms.json',
      'runbooks/VolumeFull',
    ]) {
      const get = async (coding: string): Promise<RawAnswer> =>
        await rawRequest(Number(new URL(url).port), 'GET', `/admin/dashboard/${name}`, {
          host: 'x',
          connection: 'close',
          'accept-encoding': coding,
        });
      const [plain, br, gzip] = [await get('identity'), await get('gzip, br'), await get('gzip, br;q=0.5')];
      expect([plain, br, gzip].map(({ headers }) => headers['content-encoding'])).toEqual([
        undefined,
        'br',
        'gzip',
      ]);
      expect(brotliDecompressSync(br.body)).toEqual(plain.body);
      expect(gunzipSync(gzip.body)).toEqual(plain.body);
      expect(new Set([plain, br, gzip].map(({ headers }) => headers['etag'])).size).toBe(3);
      expect([plain, br, gzip].map(({ headers }) => headers['vary'])).toEqual([
        'accept-encoding',
        'accept-encoding',
        'accept-encoding',
      ]);
    }
  });

  it('is under 60 KB to the first view, and under 150 KB in all', async () => {
    const files = await readConsoleFiles();
    const sizeOf = (names: Iterable<string>): number =>
      [...names].reduce((sum, name) => sum + (files.get(name)?.encodings.br.body.length ?? Infinity), 0);
    // The page awaits the outline before it shows anything; the page itself has the empty name.
    const first = [...MANIFEST.first.map((name) => (name === 'index.html' ? '' : name)), 'outline.json'];
    expect(first.length).toBeGreaterThan(5);
    expect(sizeOf(first)).toBeLessThan(60_000);
    expect(files.size).toBe(MANIFEST.files.length + 2);
    const pages = [...files.keys()].filter((name) => name.startsWith('runbooks/'));
    expect(sizeOf([...files.keys()].filter((name) => !pages.includes(name)))).toBeLessThan(150_000);
    for (const page of pages) expect(sizeOf([page])).toBeLessThan(4000);
  });

  it.each([...Object.keys({ ...REASONS, ...SERVICE_REASONS }), ''])(
    'has the runbook "%s" as a page without a script of its own, whose links stay on this server',
    async (reason) => {
      const { url } = await startTestServer({ refresh: false });
      const response = await fetch(`${url}/admin/dashboard/runbooks/${reason}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([
        200,
        'text/html; charset=utf-8',
      ]);
      const text = await response.text();
      expect(text).toContain(`<h1>${reason === '' ? 'Runbooks' : reason}</h1>`);
      const links = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, link = '']) => link);
      const files = await readConsoleFiles();
      const names = links.map((link) => new URL(link, 'http://x/runbooks/').pathname.slice(1));
      expect(names.filter((name) => !files.has(name))).toEqual([]);
    },
  );

  it.each<[string, (folder: string) => Promise<void>]>([
    ['is missing', async (folder) => await rm(folder, { recursive: true })],
    ['has an empty manifest', async (folder) => await writeFile(join(folder, 'manifest.json'), '')],
    ['has a manifest without files', async (folder) => await writeFile(join(folder, 'manifest.json'), '{}')],
    ['names no page', async (folder) => await writeFile(join(folder, 'manifest.json'), '{"files": []}')],
    ['lacks a file', async (folder) => await rm(join(folder, `${built('main-')}.br`))],
  ])('that %s is one warning, says how to build it, and the server works without it', async (_, damage) => {
    const folder = join(await temporaryDirectory(), 'console');
    await cp(BUILT, folder, { recursive: true });
    await damage(folder);
    const warnings: unknown[] = [];
    const logger = { warn: (...each: unknown[]) => warnings.push(each) } as unknown as Logger;
    const consoleFiles = await loadConsole(logger, { folder });
    expect(warnings).toEqual([
      [{ err: expect.any(Error), folder }, expect.stringContaining('node scripts/console.ts')],
    ]);
    expect((await loadConsole(null, { folder })).size).toBe(0);
    const { url } = await startTestServer({ consoleFiles });
    const page = await fetch(`${url}/admin/dashboard/`);
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(await page.text()).toContain('node scripts/console.ts');
    expect((await fetch(`${url}/admin/dashboard/forms.json`)).status).toBe(404);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('never turns text into markup, code or a request to another site', () => {
    const forbidden = /insertAdjacentHTML|document\.write|\beval\b|new Function|https?:\/\/(?!www\.w3\.org)/;
    for (const name of APPLICATION) {
      expect([name, forbidden.exec(readFileSync(join(BUILT, name), 'utf8'))?.[0]]).toEqual([name, undefined]);
    }
    const inSources = /innerHTML|outerHTML|dangerouslySetInnerHTML/;
    for (const name of globSync('src/console/**/*.{ts,tsx,html,css,svg}', { cwd: ROOT })) {
      expect([name, inSources.exec(readFileSync(join(ROOT, name), 'utf8'))?.[0]]).toEqual([name, undefined]);
    }
  });
});
