import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ctl } from '../support/ctl.ts';
import { flipBit } from '../support/flip-bit.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { createTranscript } from '../support/transcript.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const OLD = 'r90_one';
const NEW = 'r91_two';
const ONLY_NEW = 'TableBundles/OnlyNew.zip';
const SECOND_NEW = 'TableBundles/SecondNew.zip';
const THIRD_NEW = 'TableBundles/ThirdNew.zip';
const UPSTREAM = { maxAttempts: 1, backoffBaseMs: 5, backoffCapMs: 5 };

/** The messages and fields of the logs that the transcript shows. */
const SHOWN_MESSAGES = [
  'release withdrawn',
  'attestation issued',
  'damage-repair',
  'the release is sound',
  'verdict',
  'damaged',
];
const SHOWN_FIELDS = ['channel', 'distributable', 'reason', 'cause', 'release_id'];

interface Served {
  readonly system: TestSystem;
  readonly upstream: string;
  readonly tokenFile: string;
}

/** A system that serves two releases: a retained one, and a current one with three files more. */
async function servedSystem(atEnd: AtEnd, automatic = true): Promise<Served> {
  const tokenFile = await writeTokenFile('self-repair-token-4711', atEnd);
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  await writeReleaseTree(upstream, { id: OLD, files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, ...UPSTREAM },
    daemon: { ...WITHOUT_TEXTS, repair: { automatic } },
    server: {
      admin: { tokenFiles: [tokenFile], exposeControl: true },
      // The tests of one system damage files that others asked for, and memory would serve them on.
      ...(automatic ? { cache: { blockBytes: 0 } } : {}),
    },
    atEnd,
  });
  await system.untilReady(true);
  const files = new Map([
    ...sampleFiles(),
    [ONLY_NEW, Buffer.from('only in the new release')],
    [SECOND_NEW, Buffer.from('the second one')],
    [THIRD_NEW, Buffer.from('the third one')],
  ]);
  await writeReleaseTree(upstream, { id: NEW, files });
  await system.succeed('sync');
  await until(async () => (await system.untilReady(true)).release_id === NEW);
  return { system, upstream, tokenFile };
}

function urlOf({ system }: Served, release: string, destination: string): string {
  const path = destination.split('/').map(encodeURIComponent).join('/');
  return `${system.serverUrl}/${CDN_HOST}/${release}/${path}`;
}

const isServed = async (url: string): Promise<boolean> => {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status === 200;
};

async function objectPath({ system }: Served, destination: string): Promise<string> {
  const url = `${system.serverUrl}/v1/distribution?destination=${encodeURIComponent(destination)}`;
  const { items } = (await (await fetch(url)).json()) as { items: Array<{ blake3: string }> };
  const digest = items[0]!.blake3;
  return join(system.snapshotRoot, 'objects', digest.slice(0, 2), digest.slice(2));
}

/** Requests a URL until `stop`, which returns the number of requests and the statuses that were not 200. */
function watch(url: string): {
  stop(): Promise<{ readonly requests: number; readonly failures: readonly number[] }>;
} {
  const failures: number[] = [];
  let requests = 0;
  const stopped = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const response = await fetch(url);
      await response.arrayBuffer();
      requests += 1;
      if (response.status !== 200) failures.push(response.status);
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopped.abort();
      await running;
      return { requests, failures };
    },
  };
}

async function untilHealthy({ serverUrl }: TestSystem): Promise<void> {
  await until(async () => {
    const { service } = (await (await fetch(`${serverUrl}/healthz`)).json()) as {
      readonly service: { readonly state: string };
    };
    return service.state === 'healthy';
  });
}

interface Doctor {
  readonly status: string;
  readonly checks: ReadonlyArray<{ readonly id: string; readonly status: string; readonly message: string }>;
}

async function verification({ system }: Served): Promise<Doctor['checks'][number] | undefined> {
  const response = await system.askDaemon(`/v1/reports/daemon.doctor`);
  return ((await response.json()) as Doctor).checks.find(({ id }) => id === 'verification');
}

/** Takes a folder of the volume away in one step, because a repair makes it again meanwhile. */
async function lose({ system }: Served, folder: string): Promise<void> {
  await rename(join(system.snapshotRoot, folder), join(system.directory, `lost-${folder}`));
}

/** Each test waits until its damage is repaired. */
const repairing = reusedFixture(servedSystem);

it('repairs a flipped bit that a request finds, and serves the other release all the time', async () => {
  const served = await repairing();
  const { system } = served;
  const url = urlOf(served, NEW, ONLY_NEW);
  const others = [...sampleFiles().keys()].slice(0, 3).map((each) => watch(urlOf(served, OLD, each)));
  await flipBit(await objectPath(served, ONLY_NEW));
  expect((await fetch(url)).status).toBe(503);
  await until(() => isServed(url));
  expect(await system.untilReady(true)).toMatchObject({ release_id: NEW });
  for (const other of others) expect((await other.stop()).failures).toEqual([]);
  // The server serves the file as soon as it is sound, and the daemon finishes the repair.
  await expect.poll(async () => await verification(served)).toMatchObject({ status: 'ok' });
  await system.succeed('verify', { force: true });
});

/** A line of a log as the transcript shows it: seconds since an instant, program, message, and the fields that matter. */
function shownLine(program: string, line: string, sinceMs: number): string | null {
  const { time, msg, ...fields } = JSON.parse(line) as Record<string, unknown> & {
    time: string;
    msg: string;
  };
  const ms = Date.parse(time) - sinceMs;
  if (ms < 0 || SHOWN_MESSAGES.every((shown) => !msg.startsWith(shown))) return null;
  const shown = SHOWN_FIELDS.filter((name) => name in fields).map(
    (name) => ` ${name}=${String(fields[name])}`,
  );
  return `${(ms / 1000).toFixed(3).padStart(6)} s  ${program.padEnd(6)}  ${msg}${shown.join('')}`;
}

it('repairs a damaged release automatically, and status, tasks and log show it', async () => {
  const served = await repairing();
  const { system, tokenFile } = served;
  const transcript = createTranscript(process.env['SELF_REPAIR_TRANSCRIPT'], {
    [system.serverUrl]: 'http://slipway.example',
    [CDN_HOST]: 'cdn.example.com',
    [system.snapshotRoot]: '/snapshot',
  });
  const env = { SLIPWAY_CTL_URL: system.serverUrl, SLIPWAY_CTL_TOKEN_FILE: tokenFile };
  const say = async (typed: string): Promise<string> => {
    const { out } = await ctl(typed.split(' '), { env });
    transcript.command(`slipway ctl ${typed}`, out.trimEnd());
    return out;
  };
  const url = urlOf(served, NEW, SECOND_NEW);
  const ask = async (asked: string): Promise<number> => {
    const response = await fetch(asked);
    const body = await response.text();
    const { code, reason } = response.status === 200 ? {} : (JSON.parse(body) as Record<string, string>);
    const problem = response.status === 200 ? '' : ` ${code} ${reason}`;
    transcript.command(`curl -s ${asked}`, `HTTP ${response.status}${problem}`);
    return response.status;
  };

  transcript.part('Before');
  // The server learns the state of the daemon a moment later.
  await untilHealthy(system);
  expect(await say('status')).toContain('healthy');
  expect(await ask(url)).toBe(200);

  transcript.part('One bit of an object flips on the volume');
  const path = await objectPath(served, SECOND_NEW);
  const other = watch(urlOf(served, OLD, 'TableBundles/Excel.zip'));
  await flipBit(path);
  const flippedAt = Date.now();
  transcript.command(`flip-one-bit ${path}`, '');
  expect(await ask(url)).toBe(503);
  await until(() => isServed(url));
  await system.untilReady(true);
  expect(await ask(url)).toBe(200);
  const { requests, failures } = await other.stop();
  expect(failures).toEqual([]);

  transcript.part('The log of daemon and server');
  const told = await until(() => {
    const all = [system.daemon, system.server].flatMap(({ lines }, index) =>
      lines.flatMap((line) => shownLine(index === 0 ? 'daemon' : 'server', line, flippedAt) ?? []),
    );
    return all.some((line) => line.includes('distributable=true')) ? all.sort() : null;
  });
  transcript.command('# the log of both programs, seconds since the bit flipped', told.join('\n'));
  transcript.command(
    `# requests for a file of ${OLD} in a row meanwhile`,
    `${requests}, all of them HTTP 200`,
  );

  transcript.part('Afterwards');
  expect(await say('tasks --limit 3')).toContain('damage-repair');
  expect(await say('run verify --wait')).toContain('succeeded');
  await untilHealthy(system);
  expect(await say('status')).toContain('healthy');
});

it('repairs a release whose folder of objects is lost', async () => {
  const served = await repairing();
  await lose(served, 'objects');
  await until(async () => !(await isServed(urlOf(served, NEW, ONLY_NEW))));
  for (const destination of [...sampleFiles().keys(), ONLY_NEW, SECOND_NEW, THIRD_NEW]) {
    await until(() => isServed(urlOf(served, NEW, destination)));
  }
  await until(() => isServed(urlOf(served, OLD, 'TableBundles/Excel.zip')));
  await served.system.succeed('verify', { force: true });
});

it('waits for an upstream that is down, says so, and repairs when it is back', async () => {
  const served = await repairing();
  const { system, upstream } = served;
  const url = urlOf(served, NEW, THIRD_NEW);
  await rename(upstream, `${upstream}-away`);
  await flipBit(await objectPath(served, THIRD_NEW));
  expect((await fetch(url)).status).toBe(503);
  const doctor = await until(async () => {
    const found = await verification(served);
    return /The last repair of .* failed/.test(found?.message ?? '') ? found : null;
  });
  expect(doctor.status).toBe('failing');
  expect(doctor.message).toContain(THIRD_NEW);
  expect(await system.untilReady(false)).toMatchObject({ reason: 'EntryDamaged' });
  expect(await isServed(urlOf(served, OLD, 'TableBundles/Excel.zip'))).toBe(true);
  await rename(`${upstream}-away`, upstream);
  await until(() => isServed(url));
});

it('repairs lost manifests that a server finds when it starts', async () => {
  const served = await repairing();
  const { system } = served;
  expect(await system.server.stop()).toBe(0);
  await lose(served, 'manifests');
  await system.startServer();
  await system.untilReady(true);
  expect(await isServed(urlOf(served, NEW, ONLY_NEW))).toBe(true);
  await until(() => isServed(urlOf(served, OLD, 'TableBundles/Excel.zip')));
});

it('serves right bytes from memory, withdraws them when verify finds damage, and verify fails', async () => {
  const served = await servedSystem(onTestFinished, false);
  const { system } = served;
  const url = urlOf(served, NEW, ONLY_NEW);
  for (let round = 0; round < 3; round += 1)
    expect(await (await fetch(url)).text()).toBe('only in the new release');
  await flipBit(await objectPath(served, ONLY_NEW));
  const { code, out } = await ctl(['run', 'verify', '--wait', '-o', 'json'], {
    env: { SLIPWAY_CTL_URL: system.serverUrl, SLIPWAY_CTL_TOKEN_FILE: served.tokenFile },
  });
  expect([code, JSON.parse(out)]).toMatchObject([
    1,
    {
      task: {
        status: 'failed',
        failure_code: 'damage_found',
        failure_reason: `1 damaged file in release ${NEW}: ${ONLY_NEW}`,
      },
    },
  ]);
  expect(await system.untilReady(false)).toMatchObject({ reason: 'EntryDamaged' });
  expect((await fetch(url)).status).toBe(503);
});
