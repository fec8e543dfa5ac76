import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { freePorts } from '../support/free-ports.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { startServedProcess } from '../support/served-process.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';
import { WAIT_MS } from '../support/until.ts';

const run = promisify(execFile);
const EXAMPLES = resolve(import.meta.dirname, '../../examples/clients');
const GUIDE = resolve(import.meta.dirname, '../../docs/how-to/write-a-launcher.md');
const NEWTONSOFT = '/usr/lib/cli/Newtonsoft.Json-5.0/Newtonsoft.Json.dll';

const RANDOM = createRandom(18);
const FILES: Readonly<Record<string, Buffer>> = {
  'Audio/100%+&?# of 日本.ogg': RANDOM.bytes(50_000),
  'Bundles/second.bundle': RANDOM.bytes(2_000_000),
  'Tables/empty.bytes': Buffer.alloc(0),
  'Tables/third.zip': RANDOM.bytes(3000),
};
const [RESUMED = '', DAMAGED = '', , WRONG_PART = ''] = Object.keys(FILES);

/** Whether Mono has what the client in C# needs beside the runtime; in CI a missing library is an error. */
function hasLibraries(): boolean {
  const libraries: Readonly<Record<string, string>> = {
    [NEWTONSOFT]: 'libnewtonsoft-json5.0-cil',
    '/usr/lib/mono/4.5/System.Net.Http.dll': 'libmono-system-net-http4.0-cil',
  };
  return Object.entries(libraries).every(
    ([file, debianPackage]) => existsSync(file) || hasTool(file, debianPackage),
  );
}

/** How a client is started; `null` when a tool is missing. */
type Client = (
  folder: string,
) => Promise<{ readonly command: string; readonly args: readonly string[] } | null>;

const CLIENTS: Readonly<Record<string, Client>> = {
  TypeScript: async () => ({ command: process.execPath, args: [join(EXAMPLES, 'download.ts')] }),
  Python: async () => {
    const program = pythonProgram('client-tools', null);
    if (program === null) return null;
    return { command: program, args: [join(EXAMPLES, 'download.py')] };
  },
  Go: async (folder) => {
    if (!hasTool('go', 'golang-go')) return null;
    const command = join(folder, 'download');
    // With the flags of scripts/kube-tools.sh, whose build leaves the standard library behind.
    await run('go', ['build', '-trimpath', '-o', command, join(EXAMPLES, 'download.go')], {
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off' },
    });
    return { command, args: [] };
  },
  'C#': async (folder) => {
    if (!hasTool('mcs', 'mono-mcs') || !hasLibraries()) return null;
    const program = join(folder, 'Download.exe');
    const libraries = ['-r:System.Net.Http', `-r:${NEWTONSOFT}`];
    await run('mcs', ['-warnaserror', ...libraries, `-out:${program}`, join(EXAMPLES, 'Download.cs')]);
    return { command: 'mono', args: [program] };
  },
};

describe('the example clients', () => {
  const served = sharedFixture(async (atEnd) => {
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const config = { publicBaseUrl: url, listen: { host: '127.0.0.1', port } };
    return await startServedProcess({
      fastPath: true,
      release: { releaseId: 'r1', files: FILES },
      config,
      atEnd,
    });
  });
  const clients = sharedFixture(
    async (atEnd) =>
      new Map(
        await Promise.all(
          Object.entries(CLIENTS).map(
            async ([language, build]) => [language, await build(await temporaryDirectory(atEnd))] as const,
          ),
        ),
      ),
  );

  it.each(Object.keys(CLIENTS))('in %s downloads a release, resumes it, and checks it', async (language) => {
    const { url } = served();
    const client = clients().get(language);
    if (client === null || client === undefined) return;
    const release = join(await temporaryDirectory(), 'release');
    const start = async (): Promise<readonly string[]> => {
      const args = [...client.args, url, release];
      const { stdout } = await run(client.command, args, { timeout: WAIT_MS });
      return stdout.trimEnd().split('\n');
    };
    const launcher = 'launcher: version 0.0.0, 2MB';
    expect(await start()).toEqual(['release r1: 4 files', 'downloaded 4, kept 0', launcher]);

    // One part is right, one is wrong, and a file is damaged.
    const at = (name: string): string => join(release, name);
    await mkdir(dirname(at(RESUMED)), { recursive: true });
    await writeFile(`${at(RESUMED)}.part`, (FILES[RESUMED] ?? Buffer.alloc(0)).subarray(0, 20_000));
    await writeFile(at(RESUMED), 'too short');
    await writeFile(`${at(WRONG_PART)}.part`, Buffer.alloc(1000, 'wrong'));
    await writeFile(at(WRONG_PART), 'too short');
    const damaged = await readFile(at(DAMAGED));
    damaged.writeUInt8(damaged.readUInt8(1_000_000) ^ 1, 1_000_000);
    await writeFile(at(DAMAGED), damaged);
    const parts = await partialAnswers();
    expect(await start()).toEqual(['release r1: 4 files', 'downloaded 3, kept 1', launcher]);
    expect((await partialAnswers()) - parts).toBe(2);
    for (const [name, bytes] of Object.entries(FILES)) expect(await readFile(at(name))).toEqual(bytes);
  });

  it.each(Object.keys(CLIENTS))(
    'in %s wait after a 429, resume a broken download, and ask once for a file that is missing',
    async (language) => {
      const client = clients().get(language);
      if (client === null || client === undefined) return;
      const page = await fetch(`${served().url}/v1/distribution?release_id=r1`);
      const { items } = (await page.json()) as {
        readonly items: ReadonlyArray<{ readonly destination: string }>;
      };
      const listed = items.filter(({ destination }) => destination === WRONG_PART);
      const listedAs = (destination: string): readonly object[] =>
        listed.map((entry) => ({ ...entry, destination }));
      const folder = await temporaryDirectory();
      const { url, requests } = await startFaultyServer([...listed, ...listedAs('missing')]);
      await expect(run(client.command, [...client.args, url, folder])).rejects.toMatchObject({
        stderr: expect.stringContaining('404'),
      });
      const file = `/files/${WRONG_PART}`;
      expect(requests).toEqual([
        '/v1/bootstrap',
        '/v1/bootstrap',
        '/v1/distribution',
        file,
        file,
        '/files/missing',
      ]);
      expect(await readFile(join(folder, WRONG_PART))).toEqual(FILES[WRONG_PART]);

      const outside = await startFaultyServer(listedAs('../outside'));
      await expect(run(client.command, [...client.args, outside.url, folder])).rejects.toMatchObject({
        stderr: expect.stringContaining('outside the folder'),
      });
      expect(outside.requests.filter((path) => path.startsWith('/files/'))).toEqual([]);
    },
  );

  it('get from the routes of launchers what the guide shows', async () => {
    const { url } = served();
    const guide = await readFile(GUIDE, 'utf8');
    const shown = [...guide.matchAll(/^```http\nGET (\S+)\n```\n\n```json\n(.*?)^```$/gms)];
    expect(shown.length).toBe(4);
    for (const [, path = '', answer = ''] of shown) {
      const response = await fetch(`${url}${path}`, { headers: { authorization: '{"head":{},"sign":"0"}' } });
      expect([path, response.status]).toEqual([path, 200]);
      expect(formOf(await response.json()), path).toEqual(formOf(JSON.parse(answer)));
    }
  });

  /** How many ranges the server has sent. */
  async function partialAnswers(): Promise<number> {
    const text = await (await fetch(`${served().metricsUrl}/metrics`)).text();
    const counts = text.matchAll(/^slipway_http_requests_total\{.*status="206".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }
});

/**
 * A server that refuses the first request for the release with 429, breaks off the first download of {@link WRONG_PART}, and has no
 * other file. It keeps the path of each request.
 */
async function startFaultyServer(
  items: readonly object[],
): Promise<{ readonly url: string; readonly requests: readonly string[] }> {
  const requests: string[] = [];
  const bytes = FILES[WRONG_PART] ?? Buffer.alloc(0);
  const server = createServer(({ url: target = '', headers }, response) => {
    const { pathname: path } = new URL(target, 'http://localhost');
    const isFirst = !requests.includes(path);
    requests.push(path);
    const cdn = { root: `http://${headers.host}/files` };
    if (path === '/v1/distribution') response.end(JSON.stringify({ items, next_offset: null }));
    else if (path === '/v1/bootstrap') {
      if (isFirst) response.writeHead(429, { 'retry-after': '0' }).end();
      else response.end(JSON.stringify({ cdn, release: { release_id: 'r1', entry_count: items.length } }));
    } else if (path !== `/files/${WRONG_PART}`) response.writeHead(404).end();
    else if (isFirst) {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 1000), () => response.destroy());
    } else {
      const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
      response.writeHead(from === 0 ? 200 : 206).end(bytes.subarray(from));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** The fields of an answer with the types of their values; a list has the form of its first item. */
function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(formOf);
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, formOf(member)]));
}
