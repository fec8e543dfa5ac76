import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { AtEnd } from './shared-fixture.ts';
import { startTranslationSystem, type TextFiles, type TranslationSystem } from './translation-system.ts';
import { until } from './until.ts';

/** A task of the daemon in reports. */
export interface RunTask {
  readonly task_id: string;
  readonly status: string;
  readonly failure_code: string | null;
  readonly failure_reason: string | null;
  readonly result: Readonly<Record<string, unknown>> | null;
}

/** A daemon with translation tasks, whose workers run. */
export interface WorkerSystem extends TranslationSystem {
  /** Writes a file of prepared translations. */
  readonly fixture: (name: string, items: readonly object[]) => Promise<void>;
  /** Queues a run. @returns the id of its task */
  readonly begin: (body: object) => Promise<string>;
  /** Waits for the end of a task. */
  readonly ended: (taskId: string) => Promise<RunTask>;
  /** Queues a run, and waits for its end. */
  readonly run: (body: object) => Promise<RunTask>;
}

/** Starts a daemon whose translation tasks are built. */
export async function startWorkerSystem(
  files: TextFiles,
  daemon: Readonly<Record<string, object>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<WorkerSystem> {
  const world = await startTranslationSystem(files, daemon, atEnd);
  const folder = join(world.system.directory, 'data', 'fixtures');
  await mkdir(folder, { recursive: true });
  const begin: WorkerSystem['begin'] = async (body) => {
    const answer = await world.act('translation-worker-run', body);
    expect(answer).toMatchObject({ status: 202, body: { accepted: true, status: 'queued' } });
    return String(answer.body['task_id']);
  };
  const ended: WorkerSystem['ended'] = async (taskId) =>
    await until(async () => {
      const { task } = await world.report('task.status', { task_id: taskId });
      const found = task as RunTask;
      return ['succeeded', 'failed', 'cancelled'].includes(found.status) ? found : null;
    });
  return {
    ...world,
    begin,
    ended,
    run: async (body) => await ended(await begin(body)),
    fixture: async (name, items) => {
      await writeFile(join(folder, name), items.map((item) => JSON.stringify(item)).join('\n'));
    },
  };
}
