import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createParseJobs,
  type ParseJobDependencies,
} from '../../../../src/daemon/parse/create-parse-jobs.ts';
import { PARSE_JOB } from '../../../../src/daemon/parse/parse-jobs.ts';
import { parseConfigurationSchema } from '../../../../src/daemon/parse/rules/parse-config.ts';
import type { IndexedRelease } from '../../../../src/daemon/parse/run/index-release.ts';
import type { ParseCalls } from '../../../../src/daemon/parse/run/index-worker.ts';
import type { TaskResult } from '../../../../src/daemon/tasks/task.ts';
import { snapshotIdOf } from '../../../../src/domain/release/digest.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { createThread, type Thread } from '../../../../src/platform/threads/thread.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const THREAD = new URL('../../../../src/daemon/parse/run/index-worker.ts', import.meta.url);
const RELEASE = { releaseId: 'r1', snapshotId: snapshotIdOf(blake3Hex(Buffer.from('r1'))) };

async function startThread(module: URL = THREAD): Promise<Thread<ParseCalls>> {
  const directory = await temporaryDirectory();
  const thread = createThread<ParseCalls>({
    purpose: 'owns the parse index',
    module,
    data: { indexPath: join(directory, 'index.db'), scratchDirectory: join(directory, 'parse') },
    limits: {},
  });
  onTestFinished(async () => {
    await thread.close();
  });
  return thread;
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
  carryOver: IndexedRelease['reported']['totals']['carryOver'],
): ParseJobDependencies['thread'] => ({
  call: (name) =>
    Promise.resolve(
      name === 'index'
        ? {
            reported: {
              releaseId: 'r1',
              generation: 4,
              totals: { containers: 5, units: 12, errors: 0, carryOver },
            },
            parsed: 2,
            reused: 3,
            failures: [],
            progress: { containers: 2, total: 2, units: 7, phase: 'done' },
          }
        : null,
    ) as never,
});

describe('a run of parse', () => {
  it('ends with the counts, in the names of the reports, and with the last progress', async () => {
    const counts = { same: 1, moved: 2, unique: 3, changed: 4, new: 5, removed: 6 };
    const { result, progress } = runParse(answering({ previousReleaseId: 'r0', ...counts }));
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

  it('fails with parse_thread_failed when the thread ends', async () => {
    const module = join(await temporaryDirectory(), 'thread.mjs');
    await writeFile(
      module,
      'export const createCalls = () => ({ index: () => process.exit(3), progress: () => null });',
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
