import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createCatchUp,
  type CatchUp,
  openParse,
  type Parse,
} from '../../../../src/localization/parse/parse.ts';
import { PARSER_VERSION } from '../../../../src/localization/parse/container/parsed-container.ts';
import { createParseJobs, type ParseJobDependencies } from '../../../../src/localization/parse/parse-task.ts';
import { statusOf, type IndexStatus } from '../../../../src/localization/parse/index/index-status.ts';
import { parseFinding, type ParseFacts } from '../../../../src/localization/parse/parse-check.ts';
import { PARSE_JOB } from '../../../../src/localization/parse/parse-jobs.ts';
import { loadRules, rulesDigest } from '../../../../src/localization/parse/rules/load-rules.ts';
import {
  parseConfigurationSchema,
  type ParseConfiguration,
} from '../../../../src/localization/parse/rules/parse-config.ts';
import type { IndexedRelease } from '../../../../src/localization/parse/run/index-release.ts';
import { createStore, type ParseStore } from '../../../../src/localization/parse/run/index-worker.ts';
import type { TaskEngine } from '../../../../src/engine/tasks/task-engine.ts';
import type { KindHistory } from '../../../../src/engine/tasks/task-reads.ts';
import type { Task, TaskResult } from '../../../../src/engine/tasks/task.ts';
import { snapshotIdOf } from '../../../../src/domain/release/digest.ts';
import { failure, success } from '../../../../src/domain/result.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { openThread } from '../../../../src/platform/threads/thread.ts';
import { NO_RULES } from '../../../support/rewritten-release.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const RELEASE = { releaseId: 'r1', snapshotId: snapshotIdOf(blake3Hex(Buffer.from('r1'))) };

const THREAD = new URL('../../../../src/localization/parse/run/index-worker.ts', import.meta.url);

async function startThread(module: URL = THREAD): Promise<ParseJobDependencies['thread']> {
  const directory = await temporaryDirectory();
  const thread = openThread<ParseStore>({
    purpose: 'owns the parse index',
    module,
    data: { indexPath: join(directory, 'index.db'), scratchDirectory: join(directory, 'parse') },
    limits: {},
  });
  onTestFinished(async () => {
    await thread.close();
  });
  return thread.calls;
}

interface Run {
  readonly result: Promise<TaskResult>;
  readonly progress: (readonly unknown[])[];
}

/** Runs the job `parse`. */
function runParse(thread: ParseJobDependencies['thread'], changes: Partial<ParseJobDependencies> = {}): Run {
  const { jobs } = createParseJobs({
    thread,
    releases: { root: '/nonexistent', current: () => RELEASE, kept: () => ['r1'] },
    configuration: () => parseConfigurationSchema.parse({}),
    clock: systemClock,
    onBegin: () => undefined,
    onIndexed: () => Promise.resolve(),
    ...changes,
  });
  const progress: Run['progress'] = [];
  const result = jobs
    .find(({ kind }) => kind === PARSE_JOB.kind)!
    .run({
      taskId: 'task',
      kind: PARSE_JOB.kind,
      args: {},
      reviewer: null,
      reason: null,
      attempt: 1,
      signal: new AbortController().signal,
      log: () => undefined,
      progress: (...values) => void progress.push(values),
      commit: async (section) => await section(),
    });
  return { result, progress };
}

/** A thread that answers every `index` with a release of 12 units. */
const answering = (
  carry_over: IndexedRelease['reported']['totals']['carry_over'],
): ParseJobDependencies['thread'] =>
  ({
    progress: () => Promise.resolve(null),
    index: () =>
      Promise.resolve({
        reported: {
          releaseId: 'r1',
          generation: 4,
          totals: { containers: 5, units: 12, errors: 0, carry_over },
        },
        parsed: 2,
        reused: 3,
        failures: [],
        progress: { containers: 2, total: 2, units: 7, phase: 'done' },
      }),
  }) as unknown as ParseJobDependencies['thread'];

describe('a run of parse', () => {
  it('ends with the counts, in the names of the reports, and with the last progress', async () => {
    const counts = { same: 1, moved: 2, unique: 3, changed: 4, new: 5, removed: 6 };
    const { result, progress } = runParse(answering({ previous_release_id: 'r0', ...counts }));
    expect(await result).toMatchObject({
      release_id: 'r1',
      containers: 5,
      parsed: 2,
      reused: 3,
      units: 12,
      carry_over: { previous_release_id: 'r0', ...counts },
    });
    expect(progress.at(-1)).toEqual([2, 2, 'entries', 'done, 2 of 2 containers, 7 text units']);
  });

  it('fails with release_missing when there is no release', async () => {
    const releases = { root: '/nonexistent', current: () => null, kept: () => [] };
    await expect(runParse(await startThread(), { releases }).result).rejects.toMatchObject({
      code: 'release_missing',
    });
  });

  it('fails with rules_invalid when the rules name a file that cannot be read', async () => {
    const configuration = parseConfigurationSchema.parse({
      secrets: { a: '/nonexistent/a', b: '/nonexistent/b' },
    });
    const { result } = runParse(await startThread(), { configuration: () => configuration });
    await expect(result).rejects.toMatchObject({
      code: 'rules_invalid',
      message: expect.stringMatching(/parse\.secrets\.a: .*; parse\.secrets\.b: /),
    });
  });

  it('fails with manifest_unreadable when the manifest of the release is gone', async () => {
    const releases = { root: await temporaryDirectory(), current: () => RELEASE, kept: () => [] };
    await expect(runParse(await startThread(), { releases }).result).rejects.toMatchObject({
      code: 'manifest_unreadable',
      message: expect.stringContaining('verify or repair'),
    });
  });

  it('shows no progress any more when no process can be started', async () => {
    const directory = await temporaryDirectory();
    const store = createStore({
      indexPath: join(directory, 'index.db'),
      scratchDirectory: join(directory, 'parse'),
    });
    onTestFinished(() => {
      vi.unstubAllEnvs();
      store.close();
    });
    // More than the system gives to a process.
    vi.stubEnv('LANG', 'x'.repeat(4_000_000));
    const job = {
      ...RELEASE,
      root: '/nonexistent',
      configuration: parseConfigurationSchema.parse({}),
      rules: NO_RULES,
      full: false,
      keptReleases: [],
    };
    const context = { signal: new AbortController().signal, isWanted: () => true, transfer: () => undefined };
    await expect(store.index(job, context)).rejects.toThrow('E2BIG');
    expect(store.progress()).toBeNull();
  });

  it('fails with parse_thread_failed when the thread ends', async () => {
    const module = join(await temporaryDirectory(), 'thread.mjs');
    await writeFile(
      module,
      'export const createStore = () => ({ index: () => process.exit(3), progress: () => null });',
    );
    await expect(runParse(await startThread(pathToFileURL(module))).result).rejects.toMatchObject({
      code: 'parse_thread_failed',
      retryable: true,
    });
  });

  it('names a failure of the index after the run, too', async () => {
    const onIndexed = (): Promise<void> =>
      Promise.reject(Object.assign(new Error('the disk is full'), { code: 'data_full' }));
    await expect(runParse(answering(null), { onIndexed }).result).rejects.toMatchObject({
      name: 'TaskError',
      code: 'data_full',
    });
  });
});

const JAPANESE = parseConfigurationSchema.parse({});
const KOREAN = parseConfigurationSchema.parse({ sourceScript: 'korean' });

/** An engine that only notes the calls. */
function fakeEngine() {
  const listeners: ((task: Task) => void)[] = [];
  const submitted: string[] = [];
  return {
    submitted,
    finish: (status: Task['status']): void => {
      for (const listener of listeners) listener({ kind: 'parse', status } as Task);
    },
    submit: ({ kind }: { readonly kind: string }) => {
      submitted.push(kind);
      return { task: {} as Task, deduplicated: false };
    },
    onFinished: (listener: (task: Task) => void) => void listeners.push(listener),
    historyOf: () =>
      ({
        last: null,
        consecutiveFailures: 0,
        failingSince: null,
        nextRunAt: null,
        retriedCode: null,
      }) as KindHistory,
  };
}

async function indexOf(configuration: ParseConfiguration): Promise<IndexStatus> {
  return {
    ...statusOf(null),
    release_id: 'r1',
    parser_version: PARSER_VERSION,
    rules_digest: rulesDigest(await loadRules(configuration)),
  };
}

interface World {
  readonly engine: ReturnType<typeof fakeEngine>;
  readonly catchUp: CatchUp;
  configuration: ParseConfiguration;
  index: IndexStatus;
}

async function world(): Promise<World> {
  const engine = fakeEngine();
  const state = { engine, configuration: JAPANESE, index: await indexOf(JAPANESE) };
  const catchUp = createCatchUp({
    engine: engine as unknown as TaskEngine,
    releases: { root: '/nonexistent', current: () => RELEASE, kept: () => [] },
    configuration: () => state.configuration,
    refresh: () => Promise.resolve(state.index),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  return Object.assign(state, { catchUp });
}

const NO_TARGETS = {
  places: () => Promise.resolve(null),
  match: () => Promise.resolve([]),
  inconsistent: () => Promise.resolve({ units: [], next: null }),
};

/** The parse index of a daemon without a store: what reports and the doctor say about the file. */
async function openTestParse(): Promise<{
  parse: Parse;
  path: string;
  submitted: string[];
  ask: (report: string) => Promise<Record<string, unknown>>;
}> {
  const dataDirectory = await temporaryDirectory();
  const engine = fakeEngine();
  const parse = openParse({
    dataDirectory,
    releases: { root: dataDirectory, current: () => RELEASE, kept: () => [] },
    engine: engine as unknown as TaskEngine,
    configuration: () => JAPANESE,
    clock: systemClock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  onTestFinished(async () => {
    await parse.close();
  });
  const ask = async (name: string): Promise<Record<string, unknown>> =>
    (await parse
      .reports({ read: () => Promise.resolve({ unavailable: 'no work' }), search: NO_TARGETS }, () =>
        Promise.resolve(() => null),
      )
      .find((report) => report.name === name)!
      .answer(new URLSearchParams(), AbortSignal.timeout(30_000))) as Record<string, unknown>;
  return { parse, path: join(dataDirectory, 'index.db'), submitted: engine.submitted, ask };
}

describe('an index that catches up', () => {
  describe('the runs that bring the index up to date', () => {
    it('are queued when the rules changed, and not otherwise', async () => {
      const state = await world();
      await state.catchUp.run();
      expect(state.engine.submitted).toEqual([]);
      state.configuration = KOREAN;
      await state.catchUp.run();
      expect(state.engine.submitted).toEqual(['parse']);
    });

    it('are queued after a run that began with the rules before', async () => {
      const state = await world();
      state.catchUp.noteBegin();
      state.configuration = KOREAN;
      await state.catchUp.run();
      // A task now would be the one that runs.
      expect(state.engine.submitted).toEqual([]);
      state.engine.finish('succeeded');
      await until(() => state.engine.submitted.length === 1);
      state.engine.finish('succeeded');
      await state.catchUp.run();
      expect(state.engine.submitted).toEqual(['parse', 'parse']);
    });

    it('are not queued after a run that made the index of the new rules', async () => {
      const state = await world();
      state.catchUp.noteBegin();
      state.configuration = KOREAN;
      await state.catchUp.run();
      state.index = await indexOf(KOREAN);
      state.engine.finish('succeeded');
      await state.catchUp.run();
      expect(state.engine.submitted).toEqual([]);
    });

    it('are not queued when parse.automatic is off', async () => {
      const state = await world();
      state.configuration = parseConfigurationSchema.parse({ automatic: false, sourceScript: 'korean' });
      await state.catchUp.run();
      expect(state.engine.submitted).toEqual([]);
    });
  });

  describe('a parse index whose file is lost while the daemon runs', () => {
    it('is unavailable until a run filled the new one; that run is queued once', async () => {
      const { parse, path, submitted, ask } = await openTestParse();
      expect(await ask('parse.status')).toMatchObject({ release_id: null, replaced: null });
      await rm(path);
      const lost = {
        code: 'backend_unavailable',
        message: expect.stringMatching(/deleted or replaced while the daemon ran; the next parse run fills/),
      };
      await expect(ask('parse.text_units')).rejects.toMatchObject(lost);
      await until(() => submitted.length > 0);
      await expect(ask('parse.errors')).rejects.toMatchObject(lost);
      await expect(ask('parse.text_units')).rejects.toMatchObject(lost);
      expect(await ask('parse.status')).toMatchObject({
        release_id: null,
        replaced: { reason: expect.stringContaining('deleted or replaced') },
      });
      expect(submitted).toEqual(['parse']);
      expect((await parse.check.run(AbortSignal.timeout(30_000))).message).toContain('deleted or replaced');
    });

    it('is unavailable when it was damaged before the start', async () => {
      const { path, ask } = await openTestParse();
      await writeFile(path, 'x'.repeat(8192));
      await expect(ask('parse.text_units')).rejects.toMatchObject({ code: 'backend_unavailable' });
      expect(await ask('parse.status')).toMatchObject({
        replaced: { reason: expect.stringContaining(path) },
      });
    });
  });
});

const DIGEST = blake3Hex(Buffer.from('rules'));
const INDEXED = {
  ...statusOf(null),
  release_id: 'r2',
  containers: 3,
  units: 9,
  parser_version: PARSER_VERSION,
  rules_digest: DIGEST,
};
const NEVER_RUN = {
  last: null,
  consecutiveFailures: 0,
  failingSince: null,
  succeededAt: null,
  nextRunAt: null,
  retriedCode: null,
};
const FAILED = {
  ...NEVER_RUN,
  last: { failure_code: 'data_full', failure_reason: 'no space' } as Task,
  consecutiveFailures: 1,
  failingSince: 7,
};
const FACTS: ParseFacts = {
  rules: success(DIGEST),
  status: INDEXED,
  replacement: null,
  currentReleaseId: 'r2',
  history: NEVER_RUN,
  isRunning: false,
  isAutomatic: true,
};
const OLD = { ...INDEXED, release_id: 'r1' };

describe('the doctor check of the parse index', () => {
  it.each<[string, Partial<ParseFacts>, string, RegExp]>([
    ['an index of the release and the rules', {}, 'ok', /^9 text units in 3 containers of r2$/],
    ['such an index, whatever failed before', { history: FAILED }, 'ok', /^9 text units/],
    [
      'rules that cannot be used, before everything else',
      { rules: failure(['parse.rules[0].schema: gone', 'parse.secrets.a: gone']), history: FAILED },
      'degraded',
      /rules_invalid: parse\.rules\[0\]\.schema: gone; parse\.secrets\.a: gone; .*ctl run reload/,
    ],
    ['no release', { currentReleaseId: null, history: FAILED }, 'ok', /no official release/],
    ['a failed run', { status: OLD, history: FAILED }, 'degraded', /data_full: no space/],
    [
      'an index of other rules',
      { status: { ...INDEXED, rules_digest: blake3Hex(Buffer.from('old')) } },
      'degraded',
      /r2 is not indexed with the current rules and parser; run "slipway ctl parse"$/,
    ],
    [
      'an index of another parser',
      { status: { ...INDEXED, parser_version: 'old' } },
      'degraded',
      /with the current rules and parser/,
    ],
    [
      'an index of another release',
      { status: OLD },
      'degraded',
      /r2 is not indexed; run "slipway ctl parse"; reports show r1 until then/,
    ],
    ['a run in progress', { status: OLD, isRunning: true }, 'ok', /r2 is being indexed; reports show r1/],
    [
      'automatic runs that are off',
      { status: OLD, isAutomatic: false },
      'ok',
      /r2 is not indexed; parse\.automatic is off, so run "slipway ctl parse"/,
    ],
    [
      'an index that was replaced',
      { status: statusOf(null), replacement: { at: 1, reason: 'the index was damaged' } },
      'degraded',
      /r2 is not indexed, because the index was damaged; run "slipway ctl parse"/,
    ],
  ])('judges %s', (_, facts, status, message) => {
    const finding = parseFinding({ ...FACTS, ...facts });
    expect(finding.message).toMatch(message);
    expect(finding.status).toBe(status);
  });

  it('tells since when runs fail', () => {
    expect(parseFinding({ ...FACTS, status: OLD, history: FAILED }).since).toBe(7);
  });
});
