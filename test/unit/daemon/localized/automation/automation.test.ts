import { describe, expect, it, onTestFinished } from 'vitest';
import {
  automationFinding,
  createAutomation,
} from '../../../../../src/daemon/localized/automation/automation.ts';
import type { AutomaticPublish } from '../../../../../src/daemon/localized/publish/publish-texts.ts';
import type { Rollback } from '../../../../../src/daemon/localized/rollback/rollback-records.ts';
import type { FrozenRelease } from '../../../../../src/daemon/localized/freeze/frozen-release.ts';
import type { ReleaseRepository } from '../../../../../src/daemon/releases/records/release-repository.ts';
import { TaskError, type Task } from '../../../../../src/daemon/tasks/task.ts';
import { noReleaseUnits } from '../../../../../src/domain/translation/expected-outcomes.ts';
import { noUnits } from '../../../../../src/domain/translation/unit-state.ts';
import { createSilentLogger } from '../../../../../src/platform/logging/logging.ts';
import { EVERYTHING } from '../../../../support/freeze-world.ts';
import { createTestEngine, scriptedHandler } from '../../../../support/task-engine.ts';
import { until } from '../../../../support/until.ts';

const KIND = 'localized-follow';

/** A rollback that withdrew the channel. */
const ROLLBACK: Rollback = {
  task_id: 't1',
  from_release_id: 'r1-l1',
  to_release_id: null,
  reviewer: 'rin',
  reason: 'wrong names',
  at: 5,
  switched_at: 5,
  held_units: 0,
  reinstated_at: null,
  resumed_at: null,
};

/** The automation beside a model of releases; a publish makes the release follow. */
function open(frozen: Partial<FrozenRelease> = { lostUnits: 0 }) {
  const world = {
    isOn: true,
    official: 'r1',
    localizedBase: null as string | null,
    stoppedBy: null as Rollback | null,
    built: 'r1',
    isCovered: true,
    state: 'current',
    marked: 0,
    tidied: 0,
    published: [] as (string | null)[],
    duringPublish: async (): Promise<void> => {},
  };
  const { engine, clock } = createTestEngine();
  const releases = {
    current: (channel: string) =>
      channel === 'official'
        ? { release_id: world.official }
        : world.localizedBase === null
          ? null
          : { base_release_id: world.localizedBase, state: world.state },
    announcedOf: () => null,
    pointer: () => (world.localizedBase === null ? null : { release_id: `${world.localizedBase}-l1` }),
  };
  const automation = createAutomation({
    engine,
    configuration: () => ({ auto: world.isOn }),
    policy: () => EVERYTHING,
    releases: releases as unknown as Pick<ReleaseRepository, 'announcedOf' | 'current' | 'get' | 'pointer'>,
    rollbacks: {
      stoppedBy: () => world.stoppedBy,
      stops: () => (world.stoppedBy === null ? [] : [world.stoppedBy]),
    },
    finishRollbacks: () => Promise.resolve(),
    texts: () => ({
      built: { releaseId: world.built, generation: 1 },
      index: { release_id: world.built, generation: 1 },
      units: { ...noReleaseUnits(), units: { ...noUnits(), proofread: 1 } },
    }),
    refreshTexts: () => Promise.resolve(),
    publish: async (_context, { previousReleaseId, require }: AutomaticPublish) => {
      if (!world.isCovered) throw new TaskError('coverage_incomplete', 'too little is translated');
      require(frozen as FrozenRelease);
      await world.duringPublish();
      world.published.push(previousReleaseId);
      world.localizedBase = world.official;
      return { localized_release_id: `${world.official}-l1` };
    },
    markTasks: () => {
      world.marked += 1;
      return Promise.resolve();
    },
    writer: {
      removeStaging: () => {
        world.tidied += 1;
        return Promise.resolve();
      },
    },
    triggers: ['task-build'],
    edits: ['translation-proofread'],
    clock,
    logger: createSilentLogger(),
  });
  const build = scriptedHandler('task-build');
  onTestFinished(async () => await automation.stop());
  engine.jobs.register(automation.job, build);
  engine.start();
  const ended = async (): Promise<Task> => {
    await until(() => engine.historyOf(KIND).last !== null && engine.historyOf(KIND).nextRunAt === null);
    const { last } = engine.historyOf(KIND);
    if (last === null) throw new Error('no task has ended');
    return last;
  };
  return { world, engine, clock, automation, ended, build };
}

describe('a localized release', () => {
  it('is published after the tasks of a new official release are built, and once', async () => {
    const { world, engine, automation, ended, build } = open();
    engine.submit({ kind: 'task-build', args: {}, dedupe: true });
    await until(() => build.runs.length === 1);
    expect(engine.historyOf(KIND).nextRunAt).toBeNull();
    build.runs[0]?.succeed();
    expect(await ended()).toMatchObject({
      status: 'succeeded',
      result: { published: true, localized_release_id: 'r1-l1' },
    });
    expect(automation.status().state).toBe('followed');
    await automation.catchUp();
    expect(world.published).toEqual([null]);
    Object.assign(world, { official: 'r2', built: 'r2' });
    await automation.catchUp();
    await until(() => world.published.length === 2);
    expect(world.published).toEqual([null, 'r1-l1']);
  });

  it.each([
    ['it is off', { isOn: false }],
    ['it is stopped', { stoppedBy: ROLLBACK }],
    ['the tasks are those of another release', { built: 'r0' }],
  ])('is not queued while %s, and not published when a schedule asks', async (_why, facts) => {
    const { world, engine, automation, ended } = open();
    Object.assign(world, facts);
    await automation.catchUp();
    expect(engine.list(10)).toEqual([]);
    engine.submit({ kind: KIND, args: {}, dedupe: true });
    expect(await ended()).toMatchObject({
      status: 'succeeded',
      result: { published: false, state: automation.status().state },
    });
    expect(world.published).toEqual([]);
  });

  it('stays the result of its task when a request during the publish leads to another pass', async () => {
    const { world, automation, ended } = open();
    world.duringPublish = async () => {
      await automation.catchUp();
    };
    await automation.catchUp();
    expect(await ended()).toMatchObject({ result: { published: true, localized_release_id: 'r1-l1' } });
    // The other pass found the release.
    expect([world.published, world.marked]).toEqual([[null], 1]);
  });

  it('stays the result of its task when another pass finds too little translated', async () => {
    const { world, automation, ended } = open();
    world.duringPublish = async () => {
      await automation.catchUp();
      Object.assign(world, { state: 'damaged', isCovered: false });
    };
    await automation.catchUp();
    expect(await ended()).toMatchObject({ result: { published: true, localized_release_id: 'r1-l1' } });
    expect(automation.status().state).toBe('due');
  });

  it('marks its tasks when the run that published it ended before it could', async () => {
    const { world, engine, ended } = open();
    world.localizedBase = 'r1';
    engine.submit({ kind: KIND, args: {}, dedupe: true });
    expect(await ended()).toMatchObject({ result: { published: false, state: 'followed' } });
    expect([world.marked, world.tidied]).toEqual([1, 1]);
  });

  it('is published again when it is damaged', async () => {
    const { world, automation } = open();
    Object.assign(world, { localizedBase: 'r1', state: 'damaged' });
    expect(automation.status().state).toBe('due');
    await automation.catchUp();
    await until(() => world.published.length === 1);
  });

  it('waits without a failure while a publish finds that too little is translated', async () => {
    const { world, automation, ended } = open();
    world.isCovered = false;
    await automation.catchUp();
    expect(await ended()).toMatchObject({
      status: 'succeeded',
      result: {
        published: false,
        state: 'waiting',
        awaits: 'translations',
        reason: 'too little is translated',
      },
    });
    expect(world.published).toEqual([]);
  });

  it.each([
    [2, '2 units that localized release r0-l1 has would be official again'],
    [null, 'the texts of localized release r0-l1 are not known'],
  ])('is not published by itself when it loses %s units', async (lostUnits, message) => {
    const { world, automation, ended } = open({ lostUnits });
    world.localizedBase = 'r0';
    await automation.catchUp();
    const task = await ended();
    expect(task).toMatchObject({ status: 'failed', failure_code: 'coverage_would_fall' });
    expect(task.failure_reason).toContain(message);
    expect(world.published).toEqual([]);
    expect(await automation.check.run(new AbortController().signal)).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('coverage_would_fall') as string,
    });
    // Reports tell the same cause as the doctor.
    expect(automation.status()).toMatchObject({
      state: 'due',
      message: expect.stringContaining('does not follow the official one: coverage_would_fall') as string,
    });
  });
});

describe('a release that failed to follow', () => {
  it('retries after edits, a minute after the last one, and at the latest after ten minutes', async () => {
    const frozen = { lostUnits: 2 };
    const { world, engine, clock, automation, ended } = open(frozen);
    const finding = async (): Promise<unknown> => await automation.check.run(new AbortController().signal);
    const tries = (): number => engine.list(500).filter(({ kind }) => kind === KIND).length;
    const edit = async (): Promise<void> => {
      const submission = { kind: 'translation-proofread', args: {} };
      await engine.recordInline(submission, () => ({}));
    };
    world.localizedBase = 'r0';
    await automation.catchUp();
    expect(await ended()).toMatchObject({ failure_code: 'coverage_would_fall' });
    // Nine minutes of edits every half minute.
    for (let round = 0; round < 18; round += 1) {
      await edit();
      await clock.advance(30_000);
    }
    expect(tries()).toBe(1);
    expect(await finding()).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('edited since') as string,
    });
    await edit();
    await clock.advance(30_000);
    await edit();
    await clock.advance(30_000);
    await until(() => tries() === 2);
    await ended();
    expect(world.published).toEqual([]);
    frozen.lostUnits = 0;
    await edit();
    await clock.advance(59_000);
    expect(world.published).toEqual([]);
    await clock.advance(1000);
    await until(() => world.published.length === 1);
    expect(await finding()).toMatchObject({ status: 'ok' });
  });
});

describe('the doctor', () => {
  const NOTHING = { last: null, nextRunAt: null, failingSince: null, isEdited: false };

  it('says that the automation is stopped, since the rollback', () => {
    const state = { state: 'stopped', message: 'stopped', since: 5 } as const;
    expect(automationFinding(state, NOTHING, false)).toEqual({
      status: 'degraded',
      message: 'stopped',
      since: 5,
    });
  });

  it('is content with a channel that somebody has withdrawn, and says who and why', async () => {
    const { world, automation } = open();
    world.stoppedBy = ROLLBACK;
    const finding = async (): Promise<unknown> => await automation.check.run(new AbortController().signal);
    expect(await finding()).toEqual({
      status: 'ok',
      message:
        'the channel is withdrawn since localized release r1-l1 was rolled back by rin (wrong names); mend the cause, then publish with args=resume=true',
    });
    world.isOn = false;
    expect(await finding()).toMatchObject({
      message: expect.stringContaining('by rin (wrong names)') as string,
    });
    world.isOn = true;
    // The release before is served, and nothing follows it.
    world.localizedBase = 'r1';
    expect(await finding()).toMatchObject({ status: 'degraded' });
  });

  it.each(['off', 'waiting', 'due', 'followed'] as const)('is content while it is %s', (state) => {
    expect(automationFinding({ state, message: state, since: null }, NOTHING, false)).toEqual({
      status: 'ok',
      message: state,
    });
  });
});
