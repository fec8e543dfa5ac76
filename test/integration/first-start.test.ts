import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

type Line = Readonly<Record<string, unknown>>;

/** The message of the lines that report a state. */
const STATES = 'state of the service changed';

async function prepare(): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const directory = await temporaryDirectory();
  return await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    // Nobody has made the volume.
    snapshotRoot: join(directory, 'snapshot'),
    server: { scrub: { enabled: true } },
    daemon: { metrics: { host: '127.0.0.1', port: 0 } },
    supervised: true,
    startNothing: true,
  });
}

function parse(lines: readonly string[]): readonly Line[] {
  return lines.map((line) => JSON.parse(line) as Line);
}

async function untilHealthy(system: TestSystem): Promise<void> {
  await system.untilReady(true);
  await until(() =>
    parse(system.server.lines).some(({ msg, state }) => msg === STATES && state === 'healthy'),
  );
}

/** The lines of both programs that ask for attention. */
function warningsOf({ daemon, server }: TestSystem): readonly Line[] {
  const lines = [...parse(daemon.lines), ...parse(server.lines)];
  return lines.filter(({ level }) => level !== 'info' && level !== 'debug');
}

function expectQuietStart(system: TestSystem): void {
  expect(warningsOf(system)).toEqual([]);
  const states = parse(system.server.lines).flatMap(({ msg, state }) => (msg === STATES ? [state] : []));
  expect(new Set(states).isSubsetOf(new Set(['starting', 'unpublished', 'healthy']))).toBe(true);
}

describe('a healthy first start', () => {
  it.each<readonly [string, (system: TestSystem) => Promise<unknown>]>([
    [
      'the daemon when the server misses it',
      async (system) => {
        const server = await system.startServer();
        const misses = (text: string): boolean => server.lines.some((line) => line.includes(text));
        await until(() => misses('token_unreadable') && misses('has not been made yet'));
        await system.startDaemon();
      },
    ],
    [
      'the server when the daemon has a release',
      async (system) => {
        const daemon = await system.startDaemon();
        await until(() => daemon.lines.some((line) => line.includes('sync succeeded')));
        await system.startServer();
      },
    ],
  ])('logs no warning and never says that something is damaged: %s', async (_order, start) => {
    const system = await prepare();
    await start(system);
    await untilHealthy(system);
    expectQuietStart(system);
  });
});

/** The orders in which the programs start again. */
const RESTARTS: ReadonlyArray<readonly [string, (system: TestSystem) => Promise<unknown>]> = [
  [
    'the daemon first',
    async (system) => await system.startDaemon().then(async () => await system.startServer()),
  ],
  [
    'the server first',
    async (system) => await system.startServer().then(async () => await system.startDaemon()),
  ],
  ['both', async (system) => await Promise.all([system.startServer(), system.startDaemon()])],
];

describe('a healthy first start of both, and a restart', () => {
  it('log no warning, neither at the end nor at the next start, in every order', async () => {
    const system = await prepare();
    await Promise.all([system.startDaemon(), system.startServer()]);
    await untilHealthy(system);
    expectQuietStart(system);
    for (const [order, start] of RESTARTS) {
      await system.server.stop();
      await system.daemon.stop();
      expect(warningsOf(system), order).toEqual([]);
      await start(system);
      await untilHealthy(system);
      // The first look of the doctor.
      const { metrics_url: url } =
        parse(system.daemon.lines).find(({ msg }) => msg === 'daemon listening') ?? {};
      await until(async () =>
        (await (await fetch(`${String(url)}/metrics`)).text()).includes('check="clock"'),
      );
      expect(warningsOf(system), order).toEqual([]);
    }
  });
});
