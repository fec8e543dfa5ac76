import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createAdminApi } from '../../src/cli/ctl/admin-api.ts';
import { reportPath } from '../../src/cli/ctl/reports.ts';
import type { ControlAction } from '../../src/contract/actions/actions.ts';
import type { ControlScope } from '../../src/contract/actions/control-scopes.ts';
import { stringifyJsonExact } from '../../src/contract/json/json-exact.ts';
import { REPORTS, type ReportBodyOf, type ReportName } from '../../src/contract/reports/reports.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { CONSOLE_PARSE, CONSOLE_RELEASES, consoleRelease } from './console-release.ts';
import { playConsoleWork } from './console-work.ts';
import { writeReleaseTree } from './release-tree.ts';
import type { AtEnd } from './shared-fixture.ts';
import { startSystem, type TestSystem } from './system.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { startTranslationServer } from './translation-server.ts';
import { writeLongText, writeTextRelease, type TextReleaseSize } from './text-release.ts';
import { until } from './until.ts';

/** Above the coverage of the first publication, so that no other one precedes it, and below that of the second release. */
const LEAST_COVERAGE = 0.15;

/** A process that reads a container of a million units needs more than the default. */
const LARGE_CONTAINER_MIB = 6144;

/** The people of the world and what their tokens may do; `null`: everything. The id of a token is the name of its person. */
const CONSOLE_PEOPLE = {
  admin: { id: 'ada', allow: null },
  translate: { id: 'kana', allow: ['translate'] },
  review: { id: 'rin', allow: ['translate', 'review'] },
  proofread: { id: 'mei', allow: ['review'] },
  publish: { id: 'lead', allow: ['publish'] },
  operate: { id: 'ops', allow: ['operate'] },
} as const satisfies Record<string, { id: string; allow: readonly ControlScope[] | null }>;

/** A person of the world. */
export type ConsolePerson = keyof typeof CONSOLE_PEOPLE;

/** The token of a person. No other text looks like it. */
export function consoleToken(person: ConsolePerson): string {
  return `canary-7b1e90-${person}-token`;
}

/** A task of the daemon, in part. */
export type ConsoleTask = ReportBodyOf<'task.status'>['task'];

/** A text unit with its translation. */
export type ConsoleUnit = ReportBodyOf<'parse.text_units'>['items'][number];

/** The admin surface as people use it. */
export interface ConsoleDesk {
  /** Reads a report with the token that may do everything. */
  readonly read: <Name extends ReportName>(
    report: Name,
    query?: Readonly<Record<string, string>>,
  ) => Promise<ReportBodyOf<Name>>;
  /** Posts an action with the token of a person. @returns the id of the task */
  readonly act: (person: ConsolePerson, action: ControlAction, body: object) => Promise<string>;
  /** Waits until a task has ended, whatever its end. */
  readonly ended: (taskId: string) => Promise<ConsoleTask>;
  /** The units of a file. */
  readonly units: (destination: string) => Promise<readonly ConsoleUnit[]>;
  /** The id of the current translation task of a file. */
  readonly task: (destination: string) => Promise<string>;
}

/** A running service with localization, in which every list of the console has something to show. */
export interface ConsoleWorld extends ConsoleDesk {
  readonly system: TestSystem;
  /** The address of the console. */
  readonly url: string;
  /** Below `exchange.root` of the daemon. */
  readonly exchange: string;
  /** Offers a release to the daemon, syncs it, and waits until its translation tasks are built. */
  readonly offer: (id: string, files: ReadonlyMap<string, Buffer>) => Promise<void>;
}

/**
 * Starts daemon and server with two official releases, of which the second changes text; with translation tasks in every state,
 * a Translation Memory with conflicts, a Glossary in all of its states, two localized releases of the current base, schedules, a
 * failed, a cancelled and a running task. Translations are written with the tokens of {@link CONSOLE_PEOPLE}. About 15 s.
 *
 * @param options.work `false`: only the first release, whose tasks are open; about 4 s
 */
export async function startConsoleWorld(
  options: Omit<ServiceOptions, 'upstream'> & { readonly work?: boolean } = {},
): Promise<ConsoleWorld> {
  const atEnd = options.atEnd ?? onTestFinished;
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  const [first] = CONSOLE_RELEASES;
  await writeReleaseTree(upstream, { id: first, files: consoleRelease(first) });
  const daemon = { parse: CONSOLE_PARSE, ...options.daemon };
  const world = await startService({ ...options, atEnd, upstream, daemon });
  await untilBuilt(world, first);
  if (options.work !== false) await playConsoleWork(world);
  return world;
}

/**
 * Starts daemon and server on a release of many units that nobody has translated: bundles, archives, JSON and CSV. A million units
 * take about two minutes, so it is for tests with long campaigns and for measurements.
 *
 * @param size.containers a multiple of 4, or 1 for a single translation task
 */
export async function startUnitsWorld(
  size: TextReleaseSize = { units: 1_000_000, containers: 400 },
  atEnd: AtEnd = onTestFinished,
): Promise<ConsoleWorld> {
  const upstream = join(await temporaryDirectory(atEnd), 'upstream');
  const { units } = size;
  if (size.containers === 1) await writeLongText(upstream, units);
  else await writeTextRelease(upstream, size);
  const daemon = { parse: { memoryMebibytes: LARGE_CONTAINER_MIB } };
  const world = await startService({ upstream, atEnd, daemon });
  await until(async () => (await world.read('translation.status')).coverage.units === units, 1_800_000);
  return world;
}

interface ServiceOptions {
  /** The folder of the upstream, with a release. */
  readonly upstream: string;
  readonly atEnd?: AtEnd;
  /** Merged over the daemon's configuration. */
  readonly daemon?: Readonly<Record<string, object>>;
  /** Merged over the server's configuration. */
  readonly server?: Readonly<Record<string, object>>;
}

/** Starts daemon and server with localization, and waits until the release is served. */
async function startService({ upstream, ...options }: ServiceOptions): Promise<ConsoleWorld> {
  const atEnd = options.atEnd ?? onTestFinished;
  const exchange = await temporaryDirectory(atEnd);
  // A provider that never answers keeps the leases of a run.
  const silent = await startTranslationServer(() => undefined, atEnd);
  const provider = { kind: 'libretranslate', url: silent.url, allowHosts: ['127.0.0.1'] };
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    daemon: {
      exchange: { root: exchange },
      translation: { providers: { libre: { ...provider, limits: { timeoutSeconds: 600 } } } },
      localized: { minState: 'proofread', minCoverage: LEAST_COVERAGE, auto: true },
      ...options.daemon,
    },
    server: { ...(await writeTokens(atEnd)), ...options.server },
    atEnd,
  });
  const desk = openDesk(system, atEnd);
  await system.untilReady(true);
  return {
    ...desk,
    system,
    url: `${system.serverUrl}/admin/dashboard/`,
    exchange,
    offer: async (id, files) => {
      await writeReleaseTree(upstream, { id, files });
      await system.run('sync');
      await untilBuilt(desk, id);
    },
  };
}

/** Writes a file for each token. @returns the sections of the server's configuration that name them */
async function writeTokens(atEnd: AtEnd): Promise<Record<string, object>> {
  const folder = join(await temporaryDirectory(atEnd), 'tokens');
  await mkdir(folder);
  const tokens: object[] = [];
  for (const [person, { id, allow }] of Object.entries(CONSOLE_PEOPLE)) {
    const file = join(folder, person);
    await writeFile(file, `${consoleToken(person as ConsolePerson)}\n`, { mode: 0o600 });
    tokens.push({ file, id, ...(allow === null ? {} : { allow }) });
  }
  return { auth: { tokens }, admin: { exposeControl: true } };
}

function openDesk({ serverUrl }: TestSystem, atEnd: AtEnd): ConsoleDesk {
  const stop = new AbortController();
  atEnd(() => {
    stop.abort();
  });
  const apis = Object.fromEntries(
    (Object.keys(CONSOLE_PEOPLE) as ConsolePerson[]).map((person) => [
      person,
      createAdminApi({
        url: new URL(serverUrl),
        token: consoleToken(person),
        timeoutMs: 60_000,
        signal: stop.signal,
        clock: systemClock,
      }),
    ]),
  ) as Record<ConsolePerson, ReturnType<typeof createAdminApi>>;
  const read: ConsoleDesk['read'] = async (report, query) => {
    const { value } = await apis.admin.get(reportPath(report), query);
    return REPORTS[report].answer.schema.parse(value) as ReportBodyOf<typeof report>;
  };
  return {
    read,
    act: async (person, action, body) => {
      const { value } = await apis[person].post(action, stringifyJsonExact(body), randomUUID());
      return (value as { task_id: string }).task_id;
    },
    ended: async (task_id) =>
      await until(async () => {
        const { task } = await read('task.status', { task_id });
        return ['succeeded', 'failed', 'cancelled'].includes(task.status) ? task : null;
      }),
    units: async (destination) => (await read('parse.text_units', { destination, limit: '1000' })).items,
    task: async (destination) => {
      const [task] = (await read('translation.tasks', { destination })).items;
      if (task === undefined) throw new Error(`${destination} has no task`);
      return task.task_id;
    },
  };
}

/** Waits until the tasks of a release are there. */
async function untilBuilt({ read }: ConsoleDesk, releaseId: string): Promise<void> {
  await until(async () => {
    const { items } = await read('translation.tasks', { release_id: releaseId, limit: '1' });
    return items.length > 0;
  });
}
