import { exampleOf } from '../../../scripts/reference/examples.ts';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { renderActionBody } from '../../../src/cli/ctl/action-body.ts';
import { confirm } from '../../../src/cli/ctl/actions/confirm.ts';
import { argumentFlags, fieldTexts } from '../../../src/cli/ctl/actions/field-texts.ts';
import { isCommonOption } from '../../../src/cli/ctl/ctl-options.ts';
import { startAction } from '../../../src/cli/ctl/actions/start-action.ts';
import type { AdminApi } from '../../../src/cli/ctl/admin-api.ts';
import type { CtlContext } from '../../../src/cli/ctl/ctl-context.ts';
import { CTL_EXITS, CtlFailure, failureOfProblem } from '../../../src/cli/ctl/ctl-exits.ts';
import { importGlossaryFile } from '../../../src/cli/ctl/exchange/glossary-import.ts';
import { waitAtLimit } from '../../../src/cli/ctl/wait-at-limit.ts';
import {
  actionDefinition,
  CONTROL_ACTIONS,
  type ControlAction,
} from '../../../src/contract/actions/actions.ts';
import { fieldsOfPairs } from '../../../src/contract/actions/field-schemas.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { AcceptedAnswer } from '../../../src/contract/schemas/answers/admin.ts';
import { ctlService, endedTask, reportExample } from '../../support/ctl-service.ts';
import { ctl } from '../../support/ctl.ts';
import { fakeTranslations } from '../../support/fake-translations.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const GROUP = (
  reportExample('translation.memory.conflicts') as {
    groups: Array<{ records: Array<{ record_id: string }> }>;
  }
).groups[0];
const WINNER = GROUP?.records[0]?.record_id ?? '';
const LOSER = GROUP?.records[1]?.record_id ?? '';
const TERM = 'gt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC';

/** The bodies of the actions that were sent. */
function posts(daemon: Awaited<ReturnType<typeof ctlService>>['daemon']): readonly string[] {
  return daemon.received.filter(({ method }) => method === 'POST').map(({ body }) => body);
}

/** Each destructive action, the report that says what it takes away, and a part of the text. */
const DESTRUCTIVE: ReadonlyArray<
  readonly [string, readonly string[], Parameters<typeof reportExample>[0], string]
> = [
  ['restart', [], 'task.list', 'restart restarts the daemon; 1 task is running\n'],
  ['schedule-remove', ['id=nightly-verify'], 'schedule.list', 'nightly-verify'],
  ['task-cancel', ['task_id=T1'], 'task.status', 'sync'],
  [
    'translation-memory-resolve-conflict',
    [
      `winner_record_id=${WINNER}`,
      `expected_trusted_record_ids=${WINNER}`,
      `expected_trusted_record_ids=${LOSER}`,
      'reviewer=r',
      'reason=x',
    ],
    'translation.memory.conflicts',
    `supersedes  ${LOSER}  早安`,
  ],
  [
    'translation-glossary-deprecate',
    [`term_id=${TERM}`, 'reviewer=r', 'reason=x'],
    'translation.glossary.query',
    'forbids its wording',
  ],
  ['translation-glossary-delete', [`term_id=${TERM}`], 'translation.glossary.query', '老师'],
  ['localized-rollback', [], 'task.status', 'result: {"dry_run":true,"deleted":["r1"]}'],
  ['release-cleanup', ['count=1'], 'task.status', 'result: {"dry_run":true,"deleted":["r1"]}'],
];

describe('slipway ctl translations prompt', () => {
  async function promptOf(result: object) {
    const { run, daemon } = await ctlService();
    daemon.setReport('task.status', endedTask('succeeded', result));
    daemon.setAnswer('/v1/control/translation-worker-run', { status: 202, body: exampleOf(AcceptedAnswer) });
    return { ran: await run(['translations', 'prompt', 'tt_1', '--provider', 'main']), sent: posts(daemon) };
  }

  it('asks for the estimate of the task, and shows its prompt', async () => {
    const prompt = { system: 'Translate.\u001b', user: '{"script":["…"]}' };
    const { ran, sent } = await promptOf({ provider: 'main', prompt });
    expect(ran).toMatchObject({
      code: 0,
      out: 'Translate.\\x1b\n\n{\n  "script": [\n    "…"\n  ]\n}\n',
    });
    expect(sent.map((body) => JSON.parse(body) as unknown)).toEqual([
      { task_id: 'tt_1', provider: 'main', args: ['dry_run=true'] },
    ]);
  });

  it('says when there is none', async () => {
    const { ran } = await promptOf({ provider: 'memory-only' });
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining('memory-only would get no prompt') });
  });
});

describe('the actions of slipway ctl', () => {
  describe('destructive actions', () => {
    it('are all in this test', () => {
      const destructive = CONTROL_ACTIONS.filter((action) => actionDefinition(action).destructive);
      expect(DESTRUCTIVE.map(([action]) => action)).toEqual(destructive);
    });

    it.each(DESTRUCTIVE)(
      '%s is sent without a terminal only with --yes, and on a terminal after a yes',
      async (action, fields, report, text) => {
        const { run, daemon } = await ctlService();
        const example =
          actionDefinition(action as ControlAction).hasDryRun === true
            ? endedTask('succeeded', { dry_run: true, deleted: ['r1'] })
            : reportExample(report);
        daemon.setReport(report, example);
        daemon.setAnswer(`/v1/control/${action}`, { status: 202, body: exampleOf(AcceptedAnswer) });
        const sent = (): number => posts(daemon).filter((body) => !body.includes('dry_run=true')).length;
        const argv = ['run', action, ...fields];
        const refused = await run(argv);
        expect([refused.code, refused.out, sent()]).toEqual([2, '', 0]);
        expect(refused.err).toContain('nothing was changed. Add --yes');
        expect(refused.err).toContain(`For help: slipway ctl run ${action} --help`);
        const hasTrial = actionDefinition(action as ControlAction).hasDryRun === true;
        expect((await run([...argv, 'args=dry_run=true'])).code).toBe(hasTrial ? 0 : 2);
        expect([posts(daemon).length, sent()]).toEqual([hasTrial ? 1 : 0, 0]);
        const declined = await run(argv, { rows: 24, stdin: 'n\n' });
        expect([declined.code, sent()]).toEqual([1, 0]);
        expect(declined.err).toContain(text);
        expect(declined.err).toContain('Continue? [y/N] slipway ctl: not confirmed; nothing was changed\n');
        expect((await run(argv, { rows: 24, stdin: '' })).code).toBe(1);
        expect(sent()).toBe(0);
        expect((await run(argv, { rows: 24, stdin: 'Yes\n' })).code).toBe(0);
        expect(sent()).toBe(1);
        expect(await run([...argv, '--yes'])).toMatchObject({ code: 0, err: '' });
        expect(sent()).toBe(2);
        const tried = await run([...argv, '--dry-run']);
        expect([tried.code, sent()]).toEqual([0, 2]);
        expect(tried.out).toContain(text);
      },
    );

    it('end on Ctrl-C at the question, though the terminal gives no line', async () => {
      const interrupt = new AbortController();
      const stdin = Object.assign(new Readable({ read: () => undefined }), { isTTY: true });
      const stderr = { write: () => setImmediate(() => interrupt.abort(new Error('SIGINT'))) };
      const context = { args: { words: [], values: {} }, stdin, stderr, signal: interrupt.signal };
      await expect(confirm(context as unknown as CtlContext, 'restart')).rejects.toThrow('SIGINT');
    });

    it('take back the release that the dry run has shown, and no other one', async () => {
      const { run, daemon } = await ctlService();
      daemon.setReport(
        'task.status',
        endedTask('succeeded', { dry_run: true, rolled_back_release_id: 'r1-l2' }),
      );
      daemon.setAnswer('/v1/control/localized-rollback', { status: 202, body: exampleOf(AcceptedAnswer) });
      const rollback = ['run', 'localized-rollback', 'reviewer=Ada'];
      expect((await run(rollback, { rows: 24, stdin: 'y\n' })).code).toBe(0);
      expect((await run([...rollback, '--yes'])).code).toBe(0);
      expect(posts(daemon).map((body) => JSON.parse(body) as unknown)).toEqual([
        { reviewer: 'Ada', args: ['dry_run=true'] },
        { reviewer: 'Ada', args: ['from=r1-l2'] },
        { reviewer: 'Ada' },
      ]);
    });

    it('whose trial fails say why, and ask nothing', async () => {
      const { run, daemon } = await ctlService();
      const { task, ...report } = endedTask('failed') as { task: object };
      const failure = { failure_code: 'unknown_release', failure_reason: 'no release has this id' };
      daemon.setReport('task.status', { ...report, task: { ...task, ...failure } });
      daemon.setAnswer('/v1/control/release-cleanup', { status: 202, body: exampleOf(AcceptedAnswer) });
      const { code, err } = await run(['run', 'release-cleanup', 'id=r9'], { rows: 24, stdin: 'y\n' });
      expect([code, err]).toEqual([
        1,
        'slipway ctl: release-cleanup: unknown_release: no release has this id; nothing was changed\n',
      ]);
      expect(posts(daemon)).toHaveLength(1);
    });

    it('ask about a conflict beyond the first answer, and refuse one that is not there', async () => {
      const { run, daemon } = await ctlService();
      const report = reportExample('translation.memory.conflicts');
      const trusted = [WINNER, LOSER].map((id) => `expected_trusted_record_ids=${id}`);
      const words = ['winner_record_id=tm_none', ...trusted, 'expected_trusted_record_ids=tm_none'];
      const argv = ['run', 'translation-memory-resolve-conflict', ...words, 'reviewer=r', 'reason=x'];
      const shown = async (total: number): Promise<string> => {
        daemon.setReport('translation.memory.conflicts', { ...report, total });
        return (await run(argv, { rows: 24, stdin: 'n\n' })).err;
      };
      expect(await shown(1)).toContain('there is no conflict with the record tm_none; nothing was changed');
      expect(await shown(1500)).toContain('resolves the conflict with the record tm_none\nContinue?');
    });

    it('say that the thing is not there, and send nothing', async () => {
      const { run, daemon } = await ctlService();
      daemon.setReport('schedule.list', { ...reportExample('schedule.list'), total: 0, items: [] });
      const { code, err } = await run(['run', 'schedule-remove', 'id=gone'], { rows: 24, stdin: 'y\n' });
      expect([code, err]).toEqual([1, 'slipway ctl: there is no schedule gone; nothing was changed\n']);
      expect(posts(daemon)).toEqual([]);
    });

    it('that are dry runs already are sent without a question', async () => {
      const { run, daemon } = await ctlService();
      daemon.setAnswer('/v1/control/release-cleanup', { status: 202, body: exampleOf(AcceptedAnswer) });
      expect((await run(['run', 'release-cleanup', 'args=dry_run=true'])).code).toBe(0);
      expect(posts(daemon)).toHaveLength(1);
    });

    it('without a dry run ask also when a whole body has dry_run=true', async () => {
      const api = { post: async () => await Promise.reject(new Error('sent')) };
      const context = { args: { words: [], values: {} }, stdin: Readable.from([]), api };
      const body = '{"id":"nightly-verify","args":["dry_run=true"]}';
      const started = startAction(context as unknown as CtlContext, 'schedule-remove', body);
      await expect(started).rejects.toThrow('nothing was changed');
    });

    it('task cancel asks, too', async () => {
      const { run, daemon } = await ctlService();
      expect((await run(['task', 'cancel', 'T1'])).code).toBe(2);
      expect(posts(daemon)).toEqual([]);
    });
  });

  describe('--dry-run', () => {
    it('checks the body of an action that the daemon cannot try, and sends nothing', async () => {
      const { run, daemon } = await ctlService();
      const { code, out } = await run(['run', 'sync', 'force=true', '--dry-run']);
      expect([code, out]).toEqual([0, 'sync is valid\nbody: {"force":true}\nnothing was sent: --dry-run\n']);
      const json = await run(['run', 'sync', '--dry-run', '-o', 'json']);
      expect(JSON.parse(json.out)).toEqual({ dry_run: true, action: 'sync', body: {} });
      expect((await run(['run', 'sync', 'count=x', '--dry-run'])).code).toBe(2);
      expect(posts(daemon)).toEqual([]);
    });

    it('lets the daemon try what it can, and waits for the result', async () => {
      const { run, daemon } = await ctlService();
      daemon.setAnswer('/v1/control/localized-publish', { status: 202, body: exampleOf(AcceptedAnswer) });
      daemon.setReport('task.status', endedTask('succeeded', { blockers: [] }));
      const argv = [
        'run',
        'localized-publish',
        'from_worker=true',
        '--min-state',
        'proofread',
        '--resume',
        '--dry-run',
      ];
      expect(await run(argv)).toMatchObject({
        code: 0,
        out: expect.stringContaining('"blockers"') as string,
      });
      expect(posts(daemon).map((body) => JSON.parse(body) as object)).toEqual([
        { from_worker: true, args: ['min_state=proofread', 'resume=true', 'dry_run=true'] },
      ]);
    });

    it('leaves the options of every command alone, also where an argument has the name of one', async () => {
      for (const action of CONTROL_ACTIONS) {
        const flags = [...argumentFlags(actionDefinition(action)).keys()];
        expect(flags.filter((flag) => isCommonOption(flag))).toEqual([]);
      }
      const { out } = await ctl(['run', 'translation-memory-confirm', '--help']);
      expect(out).toContain('  args=target=TEXT ');
    });

    it.each([['--min-state'], ['--min-state', '--resume']])('needs a value: %j', async (...words) => {
      const { code, err } = await ctl(['run', 'localized-publish', 'from_worker=true', ...words]);
      expect([code, err]).toEqual([2, expect.stringContaining('--min-state needs a value')]);
    });

    it('is known for every action whose arguments have it', () => {
      for (const action of CONTROL_ACTIONS) {
        const { fields = {}, hasDryRun } = actionDefinition(action);
        const pairs = fields.args === undefined ? null : fieldsOfPairs(fields.args);
        if (pairs !== null) expect([action, hasDryRun === true]).toEqual([action, 'dry_run' in pairs.shape]);
      }
    });
  });

  describe('the help of an action', () => {
    it.each(CONTROL_ACTIONS)('%s lists its fields, each with a meaning', async (action) => {
      const { code, out } = await ctl(['run', action, '--help']);
      expect(code).toBe(0);
      expect(await ctl(['help', 'run', action])).toMatchObject({ out });
      const definition = actionDefinition(action);
      // The entries of args are options where the action names them.
      const flags = [...argumentFlags(definition).keys()];
      for (const flag of flags) expect(out).toContain(`  --${flag}`);
      for (const field of [...definition.required, ...definition.used]) {
        if (field === 'args' && flags.length > 0) continue;
        expect(out).toMatch(new RegExp(`^  ${field}[=.]`, 'mu'));
      }
      expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
    });

    it('says which fields are required, what they take, and the keys of args', async () => {
      const { out } = await ctl(['run', 'translation-glossary-add', '-h']);
      expect(out).toMatch(/^ {2}source_term=TEXT +\(required\) The term in the source language\.$/mu);
      expect(out).toContain('  review_status=draft|approved\n');
      expect(out).toContain('  source.source_kind=manual|imported\n');
      const publish = await ctl(['run', 'localized-publish', '-h']);
      expect(publish.out).toContain('  --min-state proofread|translated|draft\n');
      expect((await ctl(['run', 'proofread-import', '--help'])).out).toContain('run translation-proofread');
      expect((await ctl(['run', 'memory-export', '--help'])).out).toContain('action=memory-export');
      expect(publish.out).toContain('Give exactly one of from_worker, translation_file, patch_manifest.\n');
    });

    it('has a meaning for every field', () => {
      const silent = CONTROL_ACTIONS.flatMap((action) =>
        fieldTexts(actionDefinition(action)).filter(({ meaning }) => meaning === ''),
      ).map(({ name }) => name);
      expect([...new Set(silent)]).toEqual([]);
    });
  });

  describe('actions', () => {
    it('lists every action without a service', async () => {
      const url = ['--url', 'http://127.0.0.1:1'];
      const { code, out } = await ctl([...url, 'actions', '-o', 'name']);
      expect([code, out]).toEqual([0, `${CONTROL_ACTIONS.join('\n')}\n`]);
      expect((await ctl(['actions'])).out).toMatch(/^restart +yes +Drains/mu);
      const listed = JSON.parse((await ctl(['actions', '-o', 'json'])).out) as Array<{ action: string }>;
      expect(listed.map(({ action }) => action)).toEqual(CONTROL_ACTIONS);
    });

    it('names the field that was probably meant', async () => {
      expect((await ctl(['run', 'release-cleanup', 'cuont=3'])).err).toContain('did you mean "count"?');
    });
  });

  describe('an action whose equal task exists already', () => {
    const HINT = /An equal task was running already.* run the action again/;

    it.each([
      [['--wait'], 'running', true],
      [[], 'running', true],
      [['--wait', '--idempotency-key', 'k1'], 'running', false],
      [['--wait'], 'queued', false],
    ] as const)(
      'with %j says that a %s one may miss the last change: %s',
      async (options, status, isTold) => {
        const { run, daemon } = await ctlService();
        const accepted = { ...exampleOf(AcceptedAnswer), status, deduplicated: true };
        daemon.setAnswer('/v1/control/sync', { status: 202, body: JSON.stringify(accepted) });
        daemon.setAnswer('/v1/reports/task.status', {
          status: 200,
          body: JSON.stringify(endedTask('succeeded', {})),
        });
        const { code, out, err } = await run(['run', 'sync', ...options]);
        expect({ code, isTold: HINT.test(err) }).toEqual({ code: 0, isTold });
        if (options.length === 0) expect(out).toContain(`(already ${status})`);
      },
    );
  });
});

function body(action: ControlAction, ...fields: string[]): string | null {
  return renderActionBody(action, { fields, json: null });
}

describe('the body of an action from arguments', () => {
  it('is absent without arguments, and matches the schema with them', () => {
    expect(body('sync')).toBeNull();
    expect(body('sync', 'force=true')).toBe('{"force":true}');
    expect(
      body('schedule-add', 'group=res', 'action=verify', 'every_seconds=60', 'args=channel=official'),
    ).toBe('{"group":"res","action":"verify","every_seconds":60,"args":["channel=official"]}');
  });

  it('keeps every digit of an int64, and text that looks like a number', () => {
    const words = ['term_id=0012', 'priority=-9223372036854775808', 'reason=5'];
    expect(body('translation-glossary-update', ...words)).toBe(
      '{"term_id":"0012","priority":-9223372036854775808,"reason":"5"}',
    );
  });

  it('collects the items of a list, reads members of an object one by one, or the object as JSON', () => {
    const term = ['source_term=a', 'recommended_translation=b=c', 'source_language=ja', 'target_language=en'];
    const source = ['source.source_kind=manual', 'source.observed_unix_seconds=9223372036854775807'];
    expect(
      body('translation-glossary-add', ...term, 'aliases=x', 'aliases=y', ...source, 'scope={"k":"v"}'),
    ).toBe(
      '{"source_term":"a","recommended_translation":"b=c","source_language":"ja","target_language":"en",' +
        '"aliases":["x","y"],"source":{"source_kind":"manual","observed_unix_seconds":9223372036854775807},"scope":{"k":"v"}}',
    );
    expect(body('translation-glossary-update', 'term_id=t', 'scope.speaker=Aru')).toBe(
      '{"term_id":"t","scope":{"speaker":"Aru"}}',
    );
  });

  it.each([
    ['a word without a name', ['=5'], 'not of the form field=value'],
    ['an unknown field', ['nmae=5'], 'nmae: a control body has no such field'],
    ['the dry run as a field', ['dry_run=true'], 'no such field; for a dry run, use the option --dry-run'],
    ['a name of every object', ['__proto__=5'], '__proto__: a control body has no such field'],
    ['an unknown member', ['source.kind=manual'], 'source has no such member'],
    ['text for a number', ['count=many'], 'count: must be a decimal integer'],
    ['text for a switch', ['force=yes'], 'force: must be true or false'],
    ['a field twice', ['force=true', 'force=false'], 'force: given twice'],
    ['bad JSON', ['source={'], 'source: must be JSON'],
    ['a number beyond int64', ['count=9223372036854775808'], '/count: must be an integer'],
    [
      'a field that the action does not use',
      ['reviewer=r', 'task_id=T'],
      'release-cleanup does not use task_id',
    ],
    ['a rule of the action', ['count=0'], '/count: must be an integer, at least 1'],
  ])('refuses %s before it sends anything', (_what, fields, message) => {
    expect(() => body('release-cleanup', ...fields)).toThrow(message);
  });

  it('sends a whole body as typed if it is valid', () => {
    const json = '{ "count" : 9007199254740993 }';
    expect(renderActionBody('release-cleanup', { fields: [], json })).toBe(json);
    for (const bad of ['{', '[]', '{"count":1,"count":2}', '{"other":1}']) {
      expect(() => renderActionBody('release-cleanup', { fields: [], json: bad })).toThrow(/body|other/);
    }
    expect(() => renderActionBody('restart', { fields: [], json: '{"args":["dry_run=true"]}' })).toThrow(
      'restart does not use args',
    );
    expect(() => renderActionBody('sync', { fields: ['force=true'], json: '{}' })).toThrow('not both');
  });
});

describe('the failure of a refused request', () => {
  it('does not blame the arguments where the token has reached a limit', () => {
    const problem = {
      type: 'about:blank',
      title: 'Too many requests',
      status: 429,
      code: 'too_many_requests',
      detail: 'This token sends more requests than it may.',
      instance: 'x',
    } as Parameters<typeof failureOfProblem>[0];
    expect(failureOfProblem(problem)).toMatchObject({ exit: 5, code: 'too_many_requests' });
  });

  it('has the code of the daemon where the daemon has refused', () => {
    const problem = {
      status: 502,
      code: 'daemon_rejected',
      detail: 'There is a term of this id.',
      daemon: { status: 409, code: 'term_exists' },
    } as Parameters<typeof failureOfProblem>[0];
    expect(failureOfProblem(problem)).toMatchObject({
      exit: 1,
      code: 'term_exists',
      message: 'There is a term of this id. (daemon: 409 term_exists)',
    });
  });
});

function limit(retryAfterMs: number | null): CtlFailure {
  return new CtlFailure(CTL_EXITS.unavailable, 'Too many.', { code: 'too_many_requests', retryAfterMs });
}

/** Calls that fail with these errors first. */
function calls(failures: readonly Error[], stop = new AbortController().signal) {
  const left = [...failures];
  const keys: string[] = [];
  const waits: number[] = [];
  const answer = { body: Buffer.from('{}'), value: {} };
  const post: AdminApi['post'] = async (_action, _body, key) => {
    keys.push(key);
    const failure = left.shift();
    return await (failure === undefined ? Promise.resolve(answer) : Promise.reject(failure));
  };
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: async (ms: number, signal?: AbortSignal) => {
      waits.push(ms);
      await Promise.resolve(signal?.throwIfAborted());
    },
  };
  const api: AdminApi = { post, get: async () => await Promise.resolve(answer) };
  const told: number[] = [];
  return { api: waitAtLimit(api, clock, stop, (ms) => told.push(ms)), keys, waits, told };
}

describe('a call of a token that has reached a limit', () => {
  it('waits as long as the service asks, and is sent again with the same key', async () => {
    const { api, keys, waits } = calls([limit(7000), limit(null)]);
    await api.post('x', null, 'key');
    expect([waits, keys]).toEqual([
      [7000, 1000],
      ['key', 'key', 'key'],
    ]);
  });

  it('tells each wait, waits five minutes at most, and fails when it was refused too often', async () => {
    const long = calls([limit(3_600_000)]);
    await long.api.post('x', null, 'key');
    expect([long.waits, long.told]).toEqual([[300_000], [300_000]]);
    const endless = calls(Array.from({ length: 20 }, () => limit(1)));
    await expect(endless.api.post('x', null, 'key')).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(endless.keys).toHaveLength(11);
  });

  it('ends with any other failure, and with Ctrl-C', async () => {
    const other = calls([new CtlFailure(CTL_EXITS.unavailable, 'away', { code: 'daemon_unavailable' })]);
    await expect(other.api.post('x', null, 'key')).rejects.toThrow('away');
    expect(other.waits).toEqual([]);
    await expect(
      calls([limit(1)], AbortSignal.abort(new Error('stop'))).api.post('x', null, 'key'),
    ).rejects.toThrow('stop');
  });

  it('does not end the import of a glossary', async () => {
    const file = join(await temporaryDirectory(), 'terms.csv');
    await writeFile(file, 'source_term,recommended_translation\n港,港口\n海,海洋\n');
    const query = exampleOf(REPORTS['translation.glossary.query'].answer);
    const value = { ...query, items: [], total: 0 };
    const failures = [limit(7000), null, limit(2000)];
    const waits: number[] = [];
    const [out, shown]: [string[], string[]] = [[], []];
    const context = {
      api: {
        get: async () => {
          const failure = failures.shift() ?? undefined;
          return await (failure === undefined
            ? Promise.resolve({ body: Buffer.from(''), value })
            : Promise.reject(failure));
        },
      },
      args: { values: { 'source-language': 'ja', 'target-language': 'zh-Hans', 'dry-run': true } },
      words: [file],
      output: 'text',
      stdout: { write: (text: string) => out.push(text) },
      stderr: { write: (text: string) => shown.push(text) },
      clock: {
        now: () => 0,
        monotonic: () => 0,
        sleep: async (ms: number) => await Promise.resolve(void waits.push(ms)),
      },
      signal: new AbortController().signal,
    };
    expect(await importGlossaryFile(context as unknown as CtlContext)).toBe(CTL_EXITS.ok);
    expect([waits, out.join('')]).toEqual([[7000, 2000], expect.stringContaining('2 added')]);
    expect(shown).toEqual([
      'wait 7 s: the token has reached a limit\n',
      'wait 2 s: the token has reached a limit\n',
    ]);
  });
});

describe('a dry run of slipway ctl glossary mine', () => {
  it('says what a model would use, and whether that is more than the cap allows', async () => {
    const usage = { requests: 1, prompt_tokens: 300, answer_tokens: 50, cost: 0.00034999999999999994 };
    const outputs: string[] = [];
    for (const fits of [false, true, null]) {
      const result = { dry_run: true, added: 0, known: 0, ordinary: 0, usage, fits, terms: [] };
      const service = fakeTranslations([]);
      const accepted = { ...(exampleOf(AcceptedAnswer) as object), result: { task_ids: ['t'] } };
      Object.assign(service.api, {
        post: async () => await Promise.resolve({ body: Buffer.from(''), value: accepted }),
        get: async () =>
          await Promise.resolve({ body: Buffer.from(''), value: endedTask('succeeded', result) }),
      });
      outputs.push((await service.run('glossary', 'mine', 'dry_run=true')).out);
    }
    const estimate = 'a model would sort them with about 1 request, 350 tokens, and a cost of 0.00035';
    expect(outputs).toEqual([
      expect.stringContaining(`${estimate}, which is more than the cap allows\n`),
      expect.stringContaining(`${estimate}\n`),
      expect.stringContaining(`${estimate}\n`),
    ]);
  });
});
