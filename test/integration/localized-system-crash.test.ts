import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LOCALIZED_FAILPOINTS } from '../../src/localization/localized/channel.ts';
import { ROLLBACK_FAILPOINTS } from '../../src/localization/localized/channel.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { attestedFiles, statementOf, type AttestedFiles } from '../support/attested-files.ts';
import { campaignSize } from '../support/long.ts';
import { PATCH_MANIFEST, writePatches } from '../support/patch-files.ts';
import { startSlipway, type SlipwayProcess } from '../support/process.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTranslationSystem, textFile, type TranslationSystem } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const KILLED_DAEMON = resolve(import.meta.dirname, '../support/killed-daemon-child.ts');
const SOURCES = { 'a.json': ['おはよう'], 'b.json': ['さようなら'] } as const;
const LISTS = [{ files: ['list.csv'], format: 'csv', path: 'path', size: ['size'], checksums: ['md5'] }];

type Destination = keyof typeof SOURCES;
const DESTINATIONS = Object.keys(SOURCES) as Destination[];

/** The files of a localized release by the texts of its two files; the catalog states their figures. */
function contentOf(texts: Readonly<Record<Destination, string>>): Map<string, Buffer> {
  const files = DESTINATIONS.map((destination) => [destination, textFile([texts[destination]])] as const);
  const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');
  const lines = files.map(([destination, bytes]) => `${destination},${bytes.length},${md5(bytes)}\r\n`);
  return new Map([...files, ['list.csv', Buffer.from(`path,size,md5\r\n${lines.join('')}`)]]);
}

const digestsOf = (texts: Readonly<Record<Destination, string>>): AttestedFiles =>
  Object.fromEntries([...contentOf(texts)].map(([name, bytes]) => [name, blake3Hex(bytes)]));

/** The translations of a version. Every version has other texts in both files. */
const textsOf = (version: number): Record<Destination, string> => ({
  'a.json': `早上好 ${version}`,
  'b.json': `再见 ${version}`,
});

/** All that a publish or a rollback changes. */
interface State {
  readonly files: AttestedFiles;
  /** How many units are on hold. */
  readonly held: number;
  /** The files whose tasks are marked as published. */
  readonly published: readonly string[];
}

/** A job, with what it changes. A field of the state changes at the failpoint that is named here, the files before the first one that can see it. */
interface Operation {
  readonly action: 'localized-publish' | 'localized-rollback';
  readonly body: object;
  /** Brings the system to where the job begins. */
  readonly prepare?: (system: TranslationSystem) => Promise<void>;
  /** Which time its failpoints are reached; the preparation reaches them, too. */
  readonly time: number;
  readonly before: State;
  readonly after: State;
  /** The failpoints at which the files are new, the units are on hold, and the tasks are marked. */
  readonly newAt: { readonly files: string; readonly held?: string; readonly published?: string };
  /** The failpoints that it reaches, in their order. */
  readonly places: readonly string[];
}

const BOTH_PUBLISHED = { files: digestsOf(textsOf(2)), held: 0, published: DESTINATIONS };
const WITHOUT_TEXTS = [
  'localized.objects.committed',
  'localized.revision.written',
  'localized.release.current',
];
const ROLLED_BACK = { files: digestsOf(textsOf(1)), held: 2, published: [] };

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'a publish of stored translations': {
    action: 'localized-publish',
    body: { from_worker: true },
    prepare: async (system) => {
      await accept(system, 3);
    },
    time: 1,
    before: { ...BOTH_PUBLISHED, published: [] },
    after: { files: digestsOf(textsOf(3)), held: 0, published: DESTINATIONS },
    newAt: { files: 'localized.release.current', published: 'localized.tasks.marked' },
    places: LOCALIZED_FAILPOINTS,
  },
  'a publish of a translation file': {
    action: 'localized-publish',
    body: { translation_file: 'vendor.csv' },
    time: 1,
    before: BOTH_PUBLISHED,
    after: { files: digestsOf(textsOf(4)), held: 0, published: [] },
    newAt: { files: 'localized.release.current', published: 'localized.tasks.marked' },
    places: LOCALIZED_FAILPOINTS,
  },
  'a publish of a patch manifest': {
    action: 'localized-publish',
    body: { patch_manifest: PATCH_MANIFEST },
    time: 1,
    before: BOTH_PUBLISHED,
    after: { files: digestsOf(textsOf(5)), held: 0, published: [] },
    newAt: { files: 'localized.release.current' },
    places: WITHOUT_TEXTS,
  },
  'a rollback': {
    action: 'localized-rollback',
    body: {},
    time: 1,
    before: BOTH_PUBLISHED,
    after: ROLLED_BACK,
    newAt: { files: 'localized.rollback.switched', held: 'localized.rollback.held' },
    places: ROLLBACK_FAILPOINTS,
  },
  'a rollback that withdraws the channel': {
    action: 'localized-rollback',
    body: {},
    prepare: async ({ system }) => {
      await system.run('localized-rollback');
    },
    time: 2,
    before: ROLLED_BACK,
    after: { ...ROLLED_BACK, files: null },
    newAt: { files: 'localized.rollback.switched' },
    places: ROLLBACK_FAILPOINTS,
  },
};

/** One place of each job comes first; a short campaign ends with these. */
const FIRST = ['localized.container.patched', 'localized.release.current', 'localized.rollback.switched'];
const PLACES = Object.entries(OPERATIONS)
  .flatMap(([name, { places }]) => {
    const first = FIRST.find((place) => places.includes(place));
    return places.map((place) => ({ name, place, isFirst: place === first }));
  })
  .toSorted((a, b) => Number(b.isFirst) - Number(a.isFirst))
  .map(({ name, place }) => [place, name] as const);

/** Accepts the texts of a version as the translations of all units. */
async function accept(localization: TranslationSystem, version: number): Promise<void> {
  for (const destination of DESTINATIONS) {
    const { task_id } = await localization.task(destination);
    const translation_results = (await localization.units(destination)).map(({ unit_id, source_text }) => ({
      unit_id,
      source_text,
      translated_text: textsOf(version)[destination],
    }));
    const translated = { task_id, status: 'translated', translation_results };
    expect((await localization.act('translation-task-update', translated)).status).toBe(202);
    const accepted = { task_id, reviewer: 'Rin', status: 'proofread' };
    expect((await localization.act('translation-proofread', accepted)).status).toBe(202);
  }
}

/** A stopped system with two localized releases, of versions 1 and 2, and with the inputs of the other publishes. */
async function publishTwo(atEnd: AtEnd): Promise<TranslationSystem> {
  const settings = { localized: { catalogs: { lists: LISTS } }, sync: { onStart: true } };
  const official = Object.fromEntries(
    DESTINATIONS.map((destination) => [destination, SOURCES[destination][0]]),
  );
  const others = { 'list.csv': String(contentOf(official as Record<Destination, string>).get('list.csv')) };
  const localization = await startTranslationSystem(SOURCES, settings, atEnd, null, { others });
  const { system } = localization;
  for (const version of [1, 2]) {
    await accept(localization, version);
    const task = await system.run('localized-publish', { from_worker: true });
    expect(task).toMatchObject({ result: { localized_release_id: `r1-l${version}` } });
  }
  const exchange = join(system.directory, 'data', 'exchange');
  await mkdir(exchange, { recursive: true });
  const patched = textsOf(5);
  await writePatches(
    exchange,
    'r1',
    new Map(DESTINATIONS.map((destination) => [destination, textFile([patched[destination]])])),
  );
  const rows = await Promise.all(
    DESTINATIONS.map(async (destination) => {
      const [unit] = await localization.units(destination);
      return `${unit?.unit_id},${unit?.source_text},${textsOf(4)[destination]}\n`;
    }),
  );
  await writeFile(join(exchange, 'vendor.csv'), `unit_id,source_text,target_text\n${rows.join('')}`);
  await system.daemon.stop();
  return localization;
}

/** Copies the folder of a system whose daemon does not run. The copy listens at the same address. */
async function copyOf({ system }: TranslationSystem): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(system.directory, folder, { recursive: true });
  const configuration = await readFile(system.daemonConfiguration, 'utf8');
  await writeFile(join(folder, 'daemon.yaml'), configuration.replaceAll(system.directory, folder));
  return folder;
}

async function startDaemon(folder: string, killAt?: readonly [string, number]): Promise<SlipwayProcess> {
  const daemon = await startSlipway(
    'daemon',
    [...(killAt ?? []).map(String), `--config=${join(folder, 'daemon.yaml')}`, '--sync.onStart=false'],
    killAt === undefined ? {} : { script: KILLED_DAEMON },
  );
  onTestFinished(async () => {
    await daemon.kill();
  });
  return daemon;
}

/** The stored state, with the version of the newest attestation. */
async function readState(
  folder: string,
  envelope: Uint8Array,
): Promise<State & { readonly version: number }> {
  const statement = statementOf(envelope);
  const database = new DatabaseSync(join(folder, 'data', 'translation.db'), { readOnly: true });
  try {
    const tasks = database
      .prepare(`SELECT destination FROM task WHERE stored_status = 'published' ORDER BY destination`)
      .all();
    return {
      version: statement.version,
      files: await attestedFiles(join(folder, 'snapshot'), statement),
      held: Number(database.prepare('SELECT count(*) AS units FROM hold').get()?.['units']),
      published: tasks.map(({ destination }) => String(destination)),
    };
  } finally {
    database.close();
  }
}

const readStopped = async (folder: string): ReturnType<typeof readState> =>
  await readState(folder, await readFile(join(folder, 'snapshot/attest/current.json')));

/** The state that the daemon attests now. */
async function readRunning(folder: string, { system }: TranslationSystem): ReturnType<typeof readState> {
  const answer = await system.askDaemon('/v1/attestation');
  return await readState(folder, new Uint8Array(await answer.arrayBuffer()));
}

/** Queues a job, and waits until the daemon is dead: it can die before it answers. */
async function runUntilKilled(
  { system }: TranslationSystem,
  daemon: SlipwayProcess,
  { action, body }: Operation,
): Promise<void> {
  const answered = system.control(action, body).catch((error: unknown) => {
    if (!(error instanceof TypeError)) throw error;
  });
  await Promise.all([answered, daemon.exited]);
}

const untilRecovered = async ({ system }: TranslationSystem): Promise<void> => {
  await until(async () => (await fetch(`${system.daemonUrl}/readyz`)).ok);
};

async function untilSettled(localization: TranslationSystem): Promise<void> {
  await until(async () => {
    const { items = [] } = await localization.report('task.list');
    return (items as { status: string }[]).every(({ status }) => !['queued', 'running'].includes(status));
  });
}

describe('a daemon killed with SIGKILL, with its translations, its processes and its catalogs', () => {
  const two = sharedFixture(publishTwo);

  it.each(PLACES.slice(0, campaignSize(3, PLACES.length)))(
    'at %s of %s has files, holds and marks of before or after it, and continues',
    async (place, name) => {
      const operation = OPERATIONS[name];
      if (operation === undefined) throw new Error(`no operation ${name}`);
      const { before, after, newAt, places, time } = operation;
      const folder = await copyOf(two());
      const first = await startDaemon(folder, [place, time]);
      await untilRecovered(two());
      await operation.prepare?.(two());
      await untilSettled(two());
      const { version, ...begun } = await readRunning(folder, two());
      expect(begun).toEqual(before);
      await runUntilKilled(two(), first, operation);

      const isNew = (since: string | undefined): boolean =>
        since !== undefined && places.indexOf(place) >= places.indexOf(since);
      const killed = await readStopped(folder);
      expect(killed).toEqual({
        version: expect.any(Number) as number,
        files: isNew(newAt.files) ? after.files : before.files,
        held: isNew(newAt.held) ? after.held : before.held,
        published: isNew(newAt.published) ? after.published : before.published,
      });
      expect(killed.version).toBeGreaterThanOrEqual(version);

      await startDaemon(folder);
      await untilRecovered(two());
      // The job continues meanwhile.
      const recovered = await readRunning(folder, two());
      expect([before.files, after.files]).toContainEqual(recovered.files);
      expect([before.held, after.held]).toContain(recovered.held);
      expect(recovered.published.length === 0 || recovered.published.length === DESTINATIONS.length).toBe(
        true,
      );
      expect(recovered.version).toBeGreaterThan(killed.version);

      await untilSettled(two());
      const { version: last, ...settled } = await readRunning(folder, two());
      expect(settled).toEqual(after);
      expect(last).toBeGreaterThanOrEqual(recovered.version);
    },
  );
});
