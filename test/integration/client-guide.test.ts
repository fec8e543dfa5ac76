import { execFile } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { compareDestinations, type Destination } from '../../src/domain/release/destination.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { hasTool } from '../support/tools.ts';
import { until, WAIT_MS } from '../support/until.ts';

const run = promisify(execFile);
const GUIDE = resolve(import.meta.dirname, '../../docs/how-to/write-a-client.md');
const TOOLS = ['bash', 'curl', 'jq', 'b3sum'];

const RANDOM = createRandom(17);
const FILES: Readonly<Record<string, Buffer>> = {
  'Audio/100%+&?# of 日本.ogg': RANDOM.bytes(5000),
  'Bundles/second.bundle': RANDOM.bytes(20_000),
  'Tables/third.zip': RANDOM.bytes(300),
};
const SORTED = (Object.keys(FILES) as Destination[]).toSorted(compareDestinations);

/** The examples of the guide in their order, for this server, with pages of two entries. */
async function examples(url: string): Promise<readonly string[]> {
  const text = await readFile(GUIDE, 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  const [settings = '', ...others] = blocks;
  const here = settings.replace(/^server=.*$/m, `server=${url}`).replace(/^limit=.*$/m, 'limit=2');
  if (here === settings) throw new Error('the first example of the guide sets neither server nor limit');
  return [here, ...others];
}

async function folder(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'slipway-client-')));
  onTestFinished(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  return directory;
}

/** Runs examples in a folder; every host name leads to the server, also that of `publicBaseUrl`. */
async function runScript(blocks: readonly string[], served: ServedProcess, cwd: string): Promise<void> {
  await writeFile(join(cwd, '.curlrc'), `connect-to = "::127.0.0.1:${served.port}"\n`);
  await run('bash', ['-euo', 'pipefail', '-c', blocks.join('\n')], {
    cwd,
    timeout: WAIT_MS,
    env: { PATH: process.env['PATH'], CURL_HOME: cwd },
  });
}

async function start(attest: boolean): Promise<ServedProcess> {
  return await startServedProcess({
    fastPath: true,
    attest,
    release: { releaseId: 'r1', files: FILES },
    config: { publicBaseUrl: 'http://resources.test.invalid' },
  });
}

describe.skipIf(!TOOLS.every((tool) => hasTool(tool)))('the guide for client developers', () => {
  it('has examples that list, download, resume and check a release as they are printed', async () => {
    const served = await start(true);
    const cwd = await folder();
    const blocks = await examples(served.url);
    expect(blocks.length).toBe(8);
    await runScript(blocks, served, cwd);

    const listed = (await readFile(join(cwd, 'entries.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(listed.map((line) => (JSON.parse(line) as { destination: string }).destination)).toEqual(SORTED);
    const [first = ''] = SORTED;
    const bytes = FILES[first] ?? Buffer.alloc(0);
    expect(await readFile(join(cwd, 'file'))).toEqual(bytes);
    // The rest alone was fetched, and completes the file.
    expect((await stat(join(cwd, 'rest.part'))).size).toBe(bytes.length - 1000);
    expect(await readFile(join(cwd, 'file.part'))).toEqual(bytes);
    expect(await readFile(join(cwd, 'first.bytes'))).toEqual(bytes.subarray(0, 10));
    const parts = await readFile(join(cwd, 'parts.multipart'));
    expect(parts.includes(bytes.subarray(0, 10))).toBe(true);
    expect(parts.includes(bytes.subarray(100, 110))).toBe(true);
    // Nobody has published a localized release.
    expect(JSON.parse(await readFile(join(cwd, 'localized.json'), 'utf8'))).toMatchObject({
      status: 409,
      reason: 'ReleaseNotAuthorized',
    });
  });

  it('has a first request that waits for a release that is not served yet', async () => {
    const served = await start(false);
    const cwd = await folder();
    const script = runScript((await examples(served.url)).slice(0, 2), served, cwd);
    // The release is attested only after the client got a 503.
    await until(async () => {
      const text = await (await fetch(`${served.metricsUrl}/metrics`)).text();
      return /^slipway_http_requests_total\{.*bootstrap.*503.*\} [1-9]/m.test(text) ? true : null;
    });
    served.attest({ official: served.release });
    await script;
    const bootstrap = JSON.parse(await readFile(join(cwd, 'bootstrap.json'), 'utf8')) as {
      release: { release_id: string };
    };
    expect(bootstrap.release.release_id).toBe('r1');
  });
});
