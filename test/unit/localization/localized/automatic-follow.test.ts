import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import {
  automationFinding,
  createAutomation,
} from '../../../../src/localization/localized/automation/automation.ts';
import {
  LOCALIZED_FOLLOW_JOB,
  followState,
  type FollowFacts,
} from '../../../../src/localization/localized/automation/follow-rules.ts';
import type { FrozenRelease } from '../../../../src/localization/localized/freeze/frozen-release.ts';
import type { AutomaticPublish } from '../../../../src/localization/localized/publish/publish-texts.ts';
import {
  createRollbackRecords,
  type Rollback,
  type RollbackRecords,
} from '../../../../src/localization/localized/rollback/rollback-records.ts';
import type { ReleaseRepository } from '../../../../src/releases/records/release-repository.ts';
import type { SnapshotWriter } from '../../../../src/snapshot/snapshot-writer.ts';
import { callOf } from '../../../../src/engine/tasks/job.ts';
import { TaskError, type Task } from '../../../../src/engine/tasks/task.ts';
import { noReleaseUnits } from '../../../../src/domain/translation/expected-outcomes.ts';
import { noUnits } from '../../../../src/domain/translation/unit-state.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { EVERYTHING } from '../../../support/freeze-world.ts';
import { createLocalizedWorld, OFFICIAL, type LocalizedWorld } from '../../../support/localized-world.ts';
import { createTestEngine, runToEnd, scriptedHandler } from '../../../support/task-engine.ts';
import { until } from '../../../support/until.ts';

const KIND = 'localized-follow';

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
    releases: releases as unknown as ReleaseRepository,
    rollbacks: {
      stoppedBy: () => world.stoppedBy,
      stops: () => (world.stoppedBy === null ? [] : [world.stoppedBy]),
    } as unknown as RollbackRecords,
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
    } as unknown as SnapshotWriter,
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

describe('the automation of localized releases', () => {
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
    const NOTHING = {
      last: null,
      consecutiveFailures: 0,
      failingSince: null,
      succeededAt: null,
      nextRunAt: null,
      retriedCode: null,
      isEdited: false,
    };

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
          'the channel is withdrawn since localized release r1-l1 was rolled back by rin (wrong names); fix the cause, then publish with args=resume=true',
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
});

const DUE_UNITS = { ...noReleaseUnits(), units: { ...noUnits(), proofread: 9, untranslated: 1 } };

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

const DUE: FollowFacts = {
  isOn: true,
  officialId: 'r2',
  isOfficialDamaged: false,
  localizedBaseId: 'r1',
  stop: null,
  isWithdrawn: false,
  built: { releaseId: 'r2', generation: 7 },
  index: { release_id: 'r2', generation: 7 },
  units: DUE_UNITS,
  policy: { ...EVERYTHING, minCoverage: 0.9 },
};

describe('the rules of following', () => {
  const rollback = { ...ROLLBACK, from_release_id: 'l1', reviewer: null, reason: null };
  const STOPPED = { rollback, progress: 'in_effect' } as const;

  it.each<[string, Partial<FollowFacts>, string]>([
    ['is due after a new official release', {}, 'due'],
    ['is due when there was none before', { localizedBaseId: null }, 'due'],
    ['is off', { isOn: false }, 'off'],
    ['follows already', { localizedBaseId: 'r2' }, 'followed'],
    ['waits for an official release', { officialId: null }, 'waiting'],
    ['waits for the repair of the official release', { isOfficialDamaged: true }, 'waiting'],
    ['waits for the index', { index: { release_id: 'r1', generation: 6 } }, 'waiting'],
    ['waits for the tasks', { built: { releaseId: 'r1', generation: 6 } }, 'waiting'],
    ['waits for the tasks of this index', { built: { releaseId: 'r2', generation: 6 } }, 'waiting'],
    ['waits for the least coverage', { policy: { ...EVERYTHING, minCoverage: 0.91 } }, 'waiting'],
    [
      'waits for any unit',
      {
        units: { ...noReleaseUnits(), units: { ...noUnits(), translated: 9 } },
        policy: { ...EVERYTHING, minCoverage: 0 },
      },
      'waiting',
    ],
    [
      'waits for units that are not on hold',
      { units: { ...DUE_UNITS, heldUnits: { ...noUnits(), proofread: 9 } } },
      'waiting',
    ],
    ['is stopped after a rollback', { stop: STOPPED }, 'stopped'],
    ['is stopped although it follows', { stop: STOPPED, localizedBaseId: 'r2' }, 'stopped'],
    ['is off after a rollback', { stop: STOPPED, isOn: false }, 'off'],
    [
      'is stopped while the channel is withdrawn, also when it is off',
      { stop: STOPPED, isOn: false, isWithdrawn: true },
      'stopped',
    ],
  ])('%s', (_name, facts, state) => {
    expect(followState({ ...DUE, ...facts }).state).toBe(state);
  });

  it('says since when it is stopped, and how to resume it', () => {
    expect(followState({ ...DUE, stop: STOPPED })).toEqual({
      state: 'stopped',
      message:
        'automatic publishing is stopped since localized release l1 was rolled back; publish with args=resume=true to resume it',
      since: 5,
      awaits: null,
    });
  });

  it.each<[string, Partial<FollowFacts>]>([
    ['index', { index: { release_id: 'r1', generation: 6 } }],
    ['tasks', { built: { releaseId: 'r1', generation: 6 } }],
    ['tasks', { built: { releaseId: 'r2', generation: 6 } }],
    ['translations', { policy: { ...EVERYTHING, minCoverage: 0.95 } }],
    ['publication', {}],
  ])('awaits %s', (awaits, facts) => {
    expect(followState({ ...DUE, ...facts }).awaits).toBe(awaits);
  });

  it('awaits translations, which it lacked before, while its index and its tasks are made again', () => {
    const policy = { ...EVERYTHING, minCoverage: 0.95 };
    const again = { policy, built: { releaseId: 'r2', generation: 6 } };
    expect(followState({ ...DUE, ...again }).awaits).toBe('translations');
    expect(followState({ ...DUE, ...again, index: null }).awaits).toBe('translations');
    // The units are those of the release before.
    expect(followState({ ...DUE, policy, built: { releaseId: 'r1', generation: 6 } }).awaits).toBe('tasks');
  });

  it('does not say that a rollback happened which has not taken effect', () => {
    const { message } = followState({ ...DUE, stop: { ...STOPPED, progress: 'without_effect' } });
    expect(message).toBe(
      'automatic publishing is stopped since a rollback of localized release l1 was begun, which has not taken effect; roll back again, or publish with args=resume=true to resume it',
    );
  });

  it('says how many units are missing', () => {
    const { message } = followState({ ...DUE, policy: { ...EVERYTHING, minCoverage: 0.95 } });
    expect(message).toBe(
      '90 % of the units can be published, and localized.minCoverage demands 95 %: 1 untranslated',
    );
  });
});

const follow = async ({ engine }: LocalizedWorld): Promise<Task> =>
  await runToEnd(engine, callOf(LOCALIZED_FOLLOW_JOB, {}));

/** Makes a world in which one text is translated. */
async function withText(): Promise<LocalizedWorld> {
  const world = await createLocalizedWorld();
  world.texts.official = { ...OFFICIAL };
  world.texts.translations = { 'a.csv': { こんにちは: '你好' } };
  return world;
}

/** Makes the official release 2.0 current, with another text. */
async function nextOfficial(world: LocalizedWorld): Promise<void> {
  const files = { ...OFFICIAL, 'b.txt': '新しい' };
  world.upstream.releaseId = '2.0';
  world.upstream.files = new Map(Object.entries(files));
  world.texts.official = files;
  expect(await world.act('sync')).toMatchObject({ status: 'succeeded' });
}

describe('the task that follows', () => {
  test('follows a new official release, and is compared with the previous one', async () => {
    const world = await withText();
    expect((await follow(world)).result).toMatchObject({ published: true, localized_release_id: '1.0-l1' });
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'followed' });
    await nextOfficial(world);
    expect(world.attested().localized).toBeNull();
    world.texts.lostUnits = 1;
    expect(await follow(world)).toMatchObject({ status: 'failed', failure_code: 'coverage_would_fall' });
    expect(world.attested().localized).toBeNull();
    world.texts.lostUnits = 0;
    expect((await follow(world)).result).toMatchObject({ published: true, localized_release_id: '2.0-l1' });
    expect(world.attested().localized).toMatchObject({ release_id: '2.0-l1', result: 'PASSED' });
  });

  test('does not follow after a rollback, also of another base, until a publish resumes it', async () => {
    const world = await withText();
    await follow(world);
    await world.act('localized-rollback', { reviewer: 'Ada', reason: 'wrong name' });
    const stoppedBy = () => createRollbackRecords(world.database).stoppedBy();
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'stopped' });
    await nextOfficial(world);
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'stopped' });
    const publish = async (args: readonly string[]): Promise<Task> =>
      await world.act('localized-publish', { from_worker: true, args });
    await publish(['resume=true', 'dry_run=true']);
    expect(stoppedBy()).not.toBeNull();
    expect(await publish([])).toMatchObject({ status: 'failed', failure_code: 'release_rolled_back' });
    expect(stoppedBy()).not.toBeNull();
    // The stop is over as soon as the release is current: the state would tell it while tasks are marked.
    const whenMarked: unknown[] = [];
    vi.spyOn(world.textCalls, 'push').mockImplementation(() => whenMarked.push(stoppedBy()));
    expect((await publish(['resume=true'])).result).toMatchObject({ resumed: true });
    expect([whenMarked.at(-1), stoppedBy()]).toEqual([null, null]);
    expect((await follow(world)).result).toMatchObject({ published: false, state: 'followed' });
  });
});
