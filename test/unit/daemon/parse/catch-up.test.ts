import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCatchUp, type CatchUp } from '../../../../src/daemon/parse/catch-up.ts';
import { PARSER_VERSION } from '../../../../src/daemon/parse/container/parser-version.ts';
import { statusOf, type IndexStatus } from '../../../../src/daemon/parse/index/index-status.ts';
import { createParse, type Parse } from '../../../../src/daemon/parse/parse.ts';
import { loadRules, rulesDigest } from '../../../../src/daemon/parse/rules/load-rules.ts';
import {
  parseConfigurationSchema,
  type ParseConfiguration,
} from '../../../../src/daemon/parse/rules/parse-config.ts';
import type { KindHistory } from '../../../../src/daemon/tasks/task-reads.ts';
import type { Task } from '../../../../src/daemon/tasks/task.ts';
import { snapshotIdOf } from '../../../../src/domain/release/digest.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const JAPANESE = parseConfigurationSchema.parse({});
const KOREAN = parseConfigurationSchema.parse({ sourceScript: 'korean' });
const RELEASE = { releaseId: 'r1', snapshotId: snapshotIdOf(blake3Hex(Buffer.from('r1'))) };

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
    engine,
    releases: { current: () => RELEASE },
    configuration: () => state.configuration,
    refresh: () => Promise.resolve(state.index),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  return Object.assign(state, { catchUp });
}

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

/** The parse index of a daemon without a store: what reports and the doctor say about the file. */
async function openParse(): Promise<{
  parse: Parse;
  path: string;
  submitted: string[];
  ask: (report: string) => Promise<Record<string, unknown>>;
}> {
  const dataDirectory = await temporaryDirectory();
  const engine = fakeEngine();
  const parse = createParse({
    dataDirectory,
    releases: { root: dataDirectory, current: () => RELEASE, kept: () => [] },
    engine,
    configuration: () => JAPANESE,
    readTranslations: () => Promise.resolve({ unavailable: 'no work' }),
    clock: systemClock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  onTestFinished(async () => {
    await parse.close();
  });
  const ask = async (name: string): Promise<Record<string, unknown>> =>
    (await parse.reports
      .find((report) => report.name === name)!
      .answer(new URLSearchParams(), AbortSignal.timeout(30_000))) as Record<string, unknown>;
  return { parse, path: join(dataDirectory, 'index.db'), submitted: engine.submitted, ask };
}

describe('a parse index whose file is lost while the daemon runs', () => {
  it('is unavailable until a run filled the new one; that run is queued once', async () => {
    const { parse, path, submitted, ask } = await openParse();
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
    const { path, ask } = await openParse();
    await writeFile(path, 'x'.repeat(8192));
    await expect(ask('parse.text_units')).rejects.toMatchObject({ code: 'backend_unavailable' });
    expect(await ask('parse.status')).toMatchObject({ replaced: { reason: expect.stringContaining(path) } });
  });
});
