import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import type { Health, Report, Task } from '../../../src/console/api/wire.ts';
import type { App } from '../../../src/console/state/app.ts';
import { titleOf } from '../../../src/console/components/task-parts.tsx';
import { byteRates, errorShares, recordText } from '../../../src/console/operate/day-panel.tsx';
import { divideChecks } from '../../../src/console/operate/doctor-checks.ts';
import { incidentOf, type Incident, type IncidentFacts } from '../../../src/console/operate/incident.ts';
import { actionsIn } from '../../../src/console/operate/diagnostics-view.tsx';
import { retryRequest } from '../../../src/console/operate/task-detail.tsx';
import { storageParts } from '../../../src/console/operate/storage-panel.tsx';
import { mainPhase, taskSteps, type TaskStatus } from '../../../src/console/operate/task-steps.ts';
import { laterSuccess } from '../../../src/console/state/tasks.ts';
import { mayRunOn, permittedContract } from '../../../src/console/state/permitted-jobs.ts';
import { reportLine, runLine } from '../../../src/console/text/ctl-line.ts';
import { percent } from '../../../src/console/text/format.ts';
import {
  memberLabel,
  numberText,
  readableMembers,
  resultBrief,
} from '../../../src/console/text/result-words.ts';
import type { ControlScope } from '../../../src/contract/actions/control-scopes.ts';
import { renderConsoleContract } from '../../../scripts/console/console-contract.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { HealthAnswer } from '../../../src/contract/schemas/answers/health.ts';

const HEALTH = HealthAnswer.schema.parse(exampleOf(HealthAnswer));
const CONTRACT = renderConsoleContract();
const incident = (facts: IncidentFacts): Incident | null => incidentOf(facts, CONTRACT.checks);
const { actions } = CONTRACT;
const example = <N extends keyof typeof REPORTS>(name: N): Report<N> =>
  REPORTS[name].answer.schema.parse(exampleOf(REPORTS[name].answer)) as Report<N>;
const TASK = example('task.status').task;

function factsOf(
  change: Partial<NonNullable<Health['service']>>,
  others: Partial<IncidentFacts> = {},
): IncidentFacts {
  const service = { ...HEALTH.service, ...change };
  const health = {
    ...HEALTH,
    service: { ...service, channels: { ...HEALTH.service.channels, official: service } },
  };
  return { health, releases: null, doctor: null, tasks: null, ...others };
}

const DAMAGED = {
  state: 'damaged',
  reason: 'EntryDamaged',
  message: '2 entries are damaged',
  next_step: { text: 'Run repair.', action: 'repair' },
} as const;

describe('an incident', () => {
  it('is none while the service is healthy', () => {
    expect(incident(factsOf({}))).toBeNull();
  });

  it('has the remedy of the server with its object, and the command that does the same', () => {
    const status = example('release.status');
    const official = { ...status.official!, damaged: ['a', 'b', 'c', 'd'], damaged_count: 9 };
    const found = incident(factsOf(DAMAGED, { releases: { ...status, official } }));
    expect(found).toMatchObject({
      reason: 'EntryDamaged',
      files: ['a', 'b', 'c'],
      fileCount: 9,
      task: null,
      remedy: {
        text: 'Repair 9 files',
        request: { action: 'repair', initial: { args: `release_id=${official.release_id}` } },
      },
      command: `slipway ctl run repair args=release_id=${official.release_id} --wait`,
    });
    expect(incident(factsOf(DAMAGED))?.remedy?.text).toBe('Repair the release');
  });

  it('has what the doctor found in the checks that the next step names, and no command without an action', () => {
    const text = 'Correct the cause that the check "verification" of the doctor names, then run repair.';
    const check = { ...example('daemon.doctor').checks[0]!, status: 'failing' as const };
    const checks = [
      { ...check, id: 'verification', message: 'the upstream path is not there' },
      { ...check, id: 'parse', message: 'not indexed' },
    ];
    const doctor = { ...example('daemon.doctor'), checks };
    const found = incident(factsOf({ ...DAMAGED, next_step: { text, action: null } }, { doctor }));
    expect(found).toMatchObject({ findings: ['the upstream path is not there'], command: null });
    const healthy = { ...doctor, checks: checks.map((each) => ({ ...each, status: 'ok' as const })) };
    expect(
      incident(factsOf({ ...DAMAGED, next_step: { text, action: 'repair' } }, { doctor: healthy })),
    ).toMatchObject({ findings: [], command: expect.stringContaining('repair') });
  });

  it('names the task that already mends it', () => {
    const repair: Task = { ...TASK, kind: 'damage-repair', status: 'running' };
    const tasks = { ...example('task.list'), items: [{ ...TASK, kind: 'verify' }, repair] };
    expect(incident(factsOf(DAMAGED, { tasks }))?.task).toBe(repair);
    const ended = { ...tasks, items: [{ ...repair, status: 'succeeded' as const }] };
    expect(incident(factsOf(DAMAGED, { tasks: ended }))?.task).toBeNull();
  });

  it.each(['PublishingStopped', 'ReleaseWithdrawn'] as const)('resumes publishing after %s', (reason) => {
    const stopped = {
      state: 'degraded',
      reason,
      next_step: { text: 'Publish with args ["resume=true"].', action: 'localized-publish' },
    } as const;
    expect(incident(factsOf(stopped))).toMatchObject({
      remedy: { request: { initial: { from_worker: true, args: 'resume=true' } } },
      command: 'slipway ctl run localized-publish from_worker=true args=resume=true --wait',
    });
  });

  it('says how much a cleanup frees, and what is unknown since when', () => {
    const full: Parameters<typeof factsOf>[0] = {
      state: 'degraded',
      reason: 'VolumeFull',
      next_step: { text: 'Run release-cleanup.', action: 'release-cleanup' },
      caused: [
        { what: 'syncs', since: 7 },
        { what: 'check x', since: null },
      ],
    };
    expect(incident(factsOf(full, { doctor: example('daemon.doctor') }))).toMatchObject({
      remedy: { text: 'Free 307.2 MiB' },
      unknown: ['syncs'],
      unknownSince: 7,
    });
    // A button that frees nothing would be no remedy.
    const doctor = example('daemon.doctor');
    const storage = { ...doctor.storage!, reclaimable_bytes: 0 };
    expect(incident(factsOf(full, { doctor: { ...doctor, storage } }))).toMatchObject({
      remedy: null,
      command: null,
      storage,
    });
  });
});

describe('the history of a day', () => {
  const history = {
    server: 'pod-0',
    from: 0,
    requests: [100, 0, null],
    server_errors: [1, 0, null],
    sent_bytes: [6000, 0, null],
  };

  it('gives rates and shares by minute, and keeps gaps', () => {
    expect(byteRates(history.sent_bytes)).toEqual([100, 0, null]);
    expect(errorShares(history.requests, history.server_errors)).toEqual([0.01, 0, null]);
    expect([0, 0.00001, 0.0004, 0.05, 0.5].map(percent)).toEqual([
      '0 %',
      '< 0.01 %',
      '0.04 %',
      '5.0 %',
      '50 %',
    ]);
  });

  it('says which server recorded it and since when', () => {
    expect(recordText(history, 100)).toMatch(
      /^Recorded by pod-0 since .*: 100 client requests before this minute, 1 of them answered with 5xx\. /,
    );
    expect(recordText({ ...history, requests: [] }, 100)).toContain('its first minute is not over yet');
  });
});

describe('the steps of a task', () => {
  const course: NonNullable<TaskStatus['course']> = [
    {
      phase: 'compare',
      unit: 'entries',
      total: 40,
      samples: [
        { at: 0, done: 10 },
        { at: 4, done: 38 },
      ],
    },
    {
      phase: 'download',
      unit: 'bytes',
      total: 9_000_000,
      samples: [
        { at: 4, done: 0 },
        { at: 6, done: 3_000_000 },
      ],
    },
  ];

  it('have amount, speed and time left', () => {
    expect(taskSteps({ task: { ...TASK, status: 'running' }, course } as TaskStatus)).toMatchObject([
      { text: 'compare', state: 'done', detail: '40 entries · 7.0 entries/s · in 4 s' },
      { text: 'download', state: 'now', detail: '2.9 MiB of 8.6 MiB · 1.4 MiB/s · about 4 s left' },
    ]);
  });

  it('end as the task did', () => {
    const last = (status: Task['status']) =>
      taskSteps({ task: { ...TASK, status }, course } as TaskStatus).at(-1)?.state;
    expect((['failed', 'cancelled', 'succeeded'] as const).map(last)).toEqual(['failed', 'stopped', 'done']);
    expect(mainPhase(course)?.phase).toBe('compare');
  });
});

describe('the result of a task', () => {
  const now = new Date(2026, 10, 23, 12).getTime() / 1000;

  it('has times, sizes and shares', () => {
    const numbers = {
      units: 8420,
      created_at: now - 60,
      freed_bytes: 3_000_000,
      seconds: 90,
      coverage: 0.025,
      ratio: 1.5,
    };
    const rows = Object.entries(numbers).map(([name, value]) => [
      memberLabel(name),
      numberText(name, value, now),
    ]);
    expect(rows).toEqual([
      ['Units', '8,420'],
      ['Created', '11:59:00'],
      ['Freed', '2.9 MiB'],
      ['Took', '1 min 30 s'],
      ['Coverage', '2.5 %'],
      ['Ratio', '1.5'],
    ]);
  });

  it('leaves out members for programs', () => {
    const result = { units: 1, generation: 1_795_454_545, dry_run: true, nothing: null };
    expect(readableMembers(result)).toEqual([
      ['units', 1],
      ['dry_run', true],
      ['nothing', null],
    ]);
  });

  it('tells a dry run from the real one', () => {
    expect(resultBrief({ dry_run: true, deleted: 2 }, now, 3)).toBe('dry run · 2 deleted');
  });

  it('reads as English at a glance: a count before its noun', () => {
    const result = { units: 8420, created_at: now - 60, freed_bytes: 3_000_000, skipped: 0, nothing: null };
    expect(resultBrief(result, now, 3)).toBe('8,420 units · created 11:59:00 · freed 2.9 MiB');
    expect(resultBrief({ entry_count: 333, attestation_version: 7, superseded: 0 }, now, 3)).toBe(
      '333 entries · attestation version 7',
    );
    expect(resultBrief({ entry_count: 1 }, now, 3)).toBe('1 entry');
    expect(resultBrief({ counts: { added: 3, same: 0, skipped: 2 } }, now, 3)).toBe('3 added · 2 skipped');
    const rollback = { localized_release_id: 'r1-l1', release_id: 'r1', withdrawn: false, held_units: 5 };
    expect(resultBrief(rollback, now, 3)).toBe('r1-l1 · 5 held units');
  });
});

describe('the title of a task', () => {
  it.each([
    ['Delete old releases (dry run)', { dry_run: true }, null],
    ['Delete old releases (dry run)', { args: ['from=lr_1', 'dry_run=true'] }, null],
    ['Delete old releases (dry run)', {}, { dry_run: true, deleted: 2 }],
    ['Delete old releases', { dry_run: false }, { dry_run: false }],
    ['Delete old releases', { args: ['dry_run=false'] }, null],
    ['Delete old releases', {}, null],
  ])('is %s for the arguments %j and the result %j', (title, args, result) => {
    expect(
      titleOf({ contract: CONTRACT } as unknown as App, { ...TASK, kind: 'release-cleanup', args, result }),
    ).toBe(title);
  });
});

describe('another try of a task', () => {
  const failed = { ...TASK, kind: 'repair', status: 'failed', failure_code: 'x' } as const;

  it('has the arguments of the first one', () => {
    expect(
      retryRequest({ ...failed, args: { force: true, release_id: 'r1', dry_run: false } }, actions),
    ).toEqual({
      action: 'repair',
      initial: { force: true, args: 'release_id=r1' },
    });
  });

  it('is not offered for work that continues, succeeded, or has no action', () => {
    expect(retryRequest({ ...failed, status: 'running' }, actions)).toBeNull();
    expect(retryRequest({ ...failed, status: 'succeeded', failure_code: null }, actions)).toBeNull();
    expect(retryRequest({ ...failed, kind: 'propagate' }, actions)).toBeNull();
  });
});

describe('the words of Operate', () => {
  it('find the actions that an advice names', () => {
    expect(actionsIn('3 MB are free; run release-cleanup or enlarge the volume', actions)).toEqual([
      'release-cleanup',
    ]);
    expect(actionsIn('Run verify, then run verify; run away', actions)).toEqual(['verify']);
    expect(actionsIn('run constructor', actions)).toEqual([]);
  });

  it('make commands that a shell takes as they are', () => {
    expect(reportLine('task.status', { task_id: '01K' })).toBe('slipway ctl report task.status task_id=01K');
    expect(runLine('sync', { note: `it's $(here)`, none: '' })).toBe(
      String.raw`slipway ctl run sync 'note=it'\''s $(here)' --wait`,
    );
  });

  it('split the volume without a loss', () => {
    const storage = example('daemon.doctor').storage!;
    const parts = storageParts(storage);
    expect(parts.reduce((sum, { size }) => sum + size, 0)).toBe(storage.total_bytes);
    expect(parts.find(({ kind }) => kind === 'free')?.size).toBe(storage.free_bytes);
  });
});

describe('the checks of the doctor', () => {
  it('count without the ones that are not evaluated, which every page of the console names apart', () => {
    const [check] = example('daemon.doctor').checks;
    const checks = [
      { ...check!, id: 'disk', status: 'degraded' as const, evaluated: true },
      { ...check!, id: 'store', status: 'ok' as const, evaluated: true },
      { ...check!, id: 'backup', status: 'ok' as const, evaluated: false },
    ];
    const { troubled, passed, unjudged } = divideChecks(checks);
    expect([troubled, passed, unjudged].map((part) => part.map(({ id }) => id))).toEqual([
      ['disk'],
      ['store'],
      ['backup'],
    ]);
  });
});

const contract = renderConsoleContract();

/** A token with one scope. The server allows it actions on schedules and tasks, whose job decides. */
function tokenWith(scope: ControlScope): App {
  return {
    contract,
    mayRun: () => true,
    hasScope: (wanted: ControlScope) => wanted === scope,
  } as unknown as App;
}

describe('an action on a schedule or a task', () => {
  it('is offered to a token with the scope of its job', () => {
    const kinds = ['sync', 'worker-run', 'localized-publish', 'localized-rollback', 'proofread', 'new-job'];
    const offered = (scope: ControlScope): string[] =>
      kinds.filter((kind) => mayRunOn(tokenWith(scope), 'task-cancel', kind));
    expect(offered('operate')).toEqual(['sync', 'new-job']);
    expect(offered('translate')).toEqual(['worker-run']);
    expect(offered('publish')).toEqual(['localized-publish', 'localized-rollback']);
    expect(offered('review')).toEqual(['proofread']);
  });

  it('is offered to every token for a job that only reads', () => {
    expect(mayRunOn(tokenWith('translate'), 'task-cancel', 'text-differences')).toBe(true);
  });

  it('is never offered where the server forwards no action', () => {
    expect(mayRunOn({ ...tokenWith('operate'), mayRun: () => false }, 'schedule-run', 'sync')).toBe(false);
  });

  it('adds only the jobs that the token may schedule', () => {
    expect(Object.keys(permittedContract(contract, (scope) => scope === 'publish').jobs)).toEqual([
      'text-differences',
      'localized-publish',
      'localized-follow',
    ]);
  });
});

describe('a task that failed', () => {
  const task = (kind: string, status: Task['status'], at: number): Task => ({
    ...TASK,
    kind,
    status,
    started_at: at,
    finished_at: at + 1,
  });
  const [verify, sync] = [task('verify', 'failed', 100), task('sync', 'failed', 100)];

  it.each([
    ['a later repair, after a verification', verify, task('repair', 'succeeded', 101), true],
    ['a later task of its kind', sync, task('sync', 'succeeded', 500), true],
    ['no task that failed again', sync, task('sync', 'failed', 500), false],
    ['no task from before', sync, task('sync', 'succeeded', 50), false],
    ['no task of another kind', sync, task('repair', 'succeeded', 500), false],
  ])('is healed by %s', (_, failed, other, heals) => {
    expect(laterSuccess(failed, [other])).toBe(heals ? other : null);
  });
});
