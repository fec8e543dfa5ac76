import { describe, expect, it } from 'vitest';
import { PARSE_JOB } from '../../../../src/daemon/parse/parse-jobs.ts';
import { callOf, implementJob } from '../../../../src/daemon/tasks/job.ts';
import { createTaskBuild, type TaskBuild } from '../../../../src/daemon/translation/task-build.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { createTestEngine, type TestEngine } from '../../../support/task-engine.ts';
import { until } from '../../../support/until.ts';

interface World {
  readonly engine: TestEngine['engine'];
  readonly taskBuild: TaskBuild;
  /** The release that the index shows. */
  indexed: string;
  isAutomatic: boolean;
  /** The releases whose tasks were finished, in order. */
  readonly finished: string[];
  /** Held open by a test that wants a build to wait before its end. */
  cleaning: Promise<void>;
  parse(): Promise<void>;
}

function open(): World {
  const { engine } = createTestEngine();
  const world = { indexed: 'r1', isAutomatic: true, finished: [] as string[], cleaning: Promise.resolve() };
  const release = { releaseId: '' };
  const calls: Record<string, (argument: never) => unknown> = {
    beginBuild: ({ releaseId }: { releaseId: string }) => {
      release.releaseId = releaseId;
      return { buildId: 1, isComplete: true, isCurrent: false, from: { position: 0, ordinal: 0 }, units: 1 };
    },
    countTasks: () => false,
    finishBuild: () => {
      world.finished.push(release.releaseId);
      return {};
    },
    cleanUp: async () => {
      await world.cleaning;
      return false;
    },
  };
  const taskBuild = createTaskBuild({
    engine,
    thread: { call: async (name, argument) => (await calls[name]?.(argument as never)) as never },
    unitsAfter: () => Promise.resolve({ releaseId: world.indexed, generation: 1, total: 1 } as never),
    isAutomatic: () => world.isAutomatic,
    onBuilt: () => Promise.resolve(),
    logger: createSilentLogger(),
  });
  engine.jobs.register(taskBuild.job);
  engine.jobs.register(implementJob(PARSE_JOB, () => Promise.resolve({})));
  engine.start();
  return Object.assign(world, {
    engine,
    taskBuild,
    parse: async () => {
      const { task } = engine.submit({ ...callOf(PARSE_JOB, {}), dedupe: false });
      await until(() => engine.get(task.task_id)?.status === 'succeeded');
    },
  });
}

describe('the tasks of the indexed release', () => {
  it('are built after a parse run', async () => {
    const world = open();
    await world.parse();
    await until(() => world.finished.length === 1 && !world.taskBuild.isRunning());
    expect(world.finished).toEqual(['r1']);
  });

  it('are built again when a parse run ends while a build of the release before has read its units', async () => {
    const world = open();
    const cleaning = Promise.withResolvers<void>();
    world.cleaning = cleaning.promise;
    await world.parse();
    await until(() => world.finished.length === 1);
    world.indexed = 'r2';
    await world.parse();
    cleaning.resolve();
    await until(() => world.finished.length === 2);
    expect(world.finished).toEqual(['r1', 'r2']);
  });

  it('are not built by themselves when translation.automatic is off', async () => {
    const world = open();
    world.isAutomatic = false;
    await world.parse();
    world.taskBuild.request();
    expect(world.engine.list(10).map(({ kind }) => kind)).toEqual(['parse']);
  });
});
