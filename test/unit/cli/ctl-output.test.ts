import { exampleOf } from '../../../scripts/reference/examples.ts';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { CTL_COMMANDS } from '../../../src/cli/ctl/ctl-commands.ts';
import { renderReleases, renderTask, renderTasks } from '../../../src/cli/ctl/report-views.ts';
import {
  renderCoverage,
  renderHandoff,
  renderTranslationTasks,
  renderUnit,
} from '../../../src/cli/ctl/work-views.ts';
import { createProgressDisplay } from '../../../src/cli/output/progress-display.ts';
import { REPORTS, type ReportName } from '../../../src/contract/reports/reports.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { PLAIN } from '../../../src/platform/terminal/painter.ts';
import { ctlService, endedTask, reportExample } from '../../support/ctl-service.ts';
import { ctl } from '../../support/ctl.ts';

const TASK = '01KAJ2X6V5Q0E8T9R3W7Y1Z4BC';

describe('the output of slipway ctl', () => {
  describe('the output of a command', () => {
    it.each([
      [['releases'], 'release.list', ['1.66.405117'], 'MANIFEST'],
      [['tasks'], 'task.list', [TASK], 'ATTEMPT'],
      [['task', 'show', TASK], 'task.status', [TASK], null],
      [['schedules'], 'schedule.list', ['nightly-verify'], 'SKIPPED'],
      [['translations', 'tasks'], 'translation.tasks', ['tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC'], 'PROVIDER'],
    ] as const)('of %j has further columns, names alone, and YAML', async (argv, report, names, column) => {
      const { run, daemon } = await ctlService();
      const value = { ...reportExample(report), huge: 1 };
      const bytes = JSON.stringify(value).replace('"huge":1', '"huge":9223372036854775807');
      daemon.setAnswer(`/v1/reports/${report}`, { status: 200, body: bytes });
      const named = await run([...argv, '-o', 'name']);
      expect([named.code, named.out.split('\n').slice(0, -1)]).toEqual([
        0,
        names.map((name) => expect.stringContaining(name) as string),
      ]);
      const [table, wide] = [await run(argv), await run([...argv, '-o', 'wide'])];
      if (column !== null)
        expect([table.out.includes(column), wide.out.includes(column)]).toEqual([false, true]);
      const yaml = await run([...argv, '-o', 'yaml']);
      expect(yaml.out).toContain('huge: 9223372036854775807\n');
      expect({ ...(parse(yaml.out) as object), huge: 1 }).toEqual(value);
    });

    it('in YAML keeps text that older readers take for a boolean', async () => {
      const { run, daemon } = await ctlService();
      daemon.setAnswer('/v1/reports/task.list', { status: 200, body: '{"a":"yes","b":"off","c":"1:20"}' });
      expect((await run(['tasks', '-o', 'yaml'])).out).toBe('a: "yes"\nb: "off"\nc: "1:20"\n');
    });

    it('as names fails when the daemon sends what this version cannot read', async () => {
      const { run, daemon } = await ctlService();
      daemon.setAnswer('/v1/reports/task.list', { status: 200, body: '{"tasks":5}' });
      expect(await run(['tasks', '-o', 'name'])).toMatchObject({ code: 3, out: '' });
    });

    it('has colours on a terminal only, unless NO_COLOR, TERM or --color say otherwise', async () => {
      const { run, daemon } = await ctlService();
      daemon.setReport('task.list', reportExample('task.list'));
      const coloured = async (
        argv: string[],
        env: Record<string, string>,
        rows?: number,
      ): Promise<boolean> => {
        const { out } = await run(['tasks', ...argv], { env, ...(rows === undefined ? {} : { rows }) });
        return stripVTControlCharacters(out) !== out;
      };
      expect(await coloured([], {}, 24)).toBe(true);
      expect(await coloured([], {})).toBe(false);
      expect(await coloured([], { NO_COLOR: '1' }, 24)).toBe(false);
      expect(await coloured([], { NO_COLOR: '' }, 24)).toBe(true);
      expect(await coloured([], { TERM: 'dumb' }, 24)).toBe(false);
      expect(await coloured(['--color', 'always'], { NO_COLOR: '1' })).toBe(true);
      expect(await coloured(['--color', 'never'], {}, 24)).toBe(false);
      const plain = await run(['tasks']);
      const painted = await run(['tasks', '--color', 'always']);
      expect(stripVTControlCharacters(painted.out).replaceAll(/\d+\w+ ago/g, '')).toBe(
        plain.out.replaceAll(/\d+\w+ ago/g, ''),
      );
      expect(painted.out).toContain('\u001b[33mrunning');
      expect((await run(['tasks', '-o', 'json'], { rows: 24 })).out).not.toContain('\u001b');
    });

    it('has a version', async () => {
      expect(await ctl(['--version'])).toEqual({ code: 0, out: 'slipway ctl 1.2.3\n', err: '' });
    });
  });

  describe('--watch', () => {
    const clock = { ...systemClock, sleep: async () => await Promise.resolve() };

    it('adds each answer that differs, and ends with Ctrl-C', async () => {
      const { run, daemon } = await ctlService();
      const [item] = (reportExample('schedule.list') as { items: object[] }).items;
      let made = 1_763_683_200;
      const schedules = (status: string): object => {
        made += 1;
        const items = [{ ...item, last_status: status }];
        return { ...reportExample('schedule.list'), generated_at: made, items };
      };
      daemon.setReport('schedule.list', schedules('succeeded'));
      const interrupted = new AbortController();
      let looks = 0;
      const { code, out } = await run(['schedules', '--watch'], {
        signal: interrupted.signal,
        clock: {
          ...systemClock,
          sleep: async () => {
            looks += 1;
            interrupted.signal.throwIfAborted();
            daemon.setReport('schedule.list', schedules(looks < 3 ? 'succeeded' : 'failed'));
            await Promise.resolve();
          },
        },
        onOutput: (text) => {
          if (text.includes('failed')) interrupted.abort(new Error('SIGINT'));
        },
      });
      expect([code, out.match(/succeeded|failed/gu)]).toEqual([130, ['succeeded', 'failed']]);
      expect(looks).toBeGreaterThanOrEqual(3);
    });

    it('clears a terminal and shows the lines that fit', async () => {
      const { run, daemon } = await ctlService();
      const [task] = (reportExample('task.list') as { items: object[] }).items;
      daemon.setReport('task.list', {
        ...reportExample('task.list'),
        items: Array.from({ length: 30 }, () => task),
      });
      const interrupted = new AbortController();
      const { out } = await run(['tasks', '-w'], {
        rows: 10,
        signal: interrupted.signal,
        clock,
        onOutput: () => interrupted.abort(new Error('SIGINT')),
      });
      expect(out.startsWith('\u001b[H\u001b[2J')).toBe(true);
      expect(out.split('\n').slice(0, -1)).toHaveLength(9);
      expect(out).toContain('... and 23 more lines\n');
    });

    it('cuts the lines of a wide list to the width of the terminal', async () => {
      const { run, daemon } = await ctlService();
      daemon.setReport('task.list', reportExample('task.list'));
      const interrupted = new AbortController();
      const { out } = await run(['tasks', '-w', '-o', 'wide', '--color', 'never'], {
        rows: 24,
        columns: 40,
        signal: interrupted.signal,
        clock,
        onOutput: () => interrupted.abort(new Error('SIGINT')),
      });
      const lines = out.slice('\u001b[H\u001b[2J'.length).split('\n');
      expect(lines.some((line) => line.endsWith('…'))).toBe(true);
      expect(Math.max(...lines.map((line) => line.length))).toBe(40);
    });

    it('ends with a task, and with its result', async () => {
      const { run, daemon } = await ctlService();
      daemon.setReport('task.status', reportExample('task.status'));
      const { code, out } = await run(['task', 'show', TASK, '-w', '-o', 'json'], {
        clock,
        onOutput: () => daemon.setReport('task.status', endedTask('failed')),
      });
      expect(code).toBe(1);
      expect(
        out
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { task: { status: string } }).task.status),
      ).toEqual(['running', 'failed']);
    });

    it('continues after a failure that passes, and fails when the first look has no answer', async () => {
      const { run, daemon } = await ctlService();
      daemon.setAnswer('/v1/reports/task.status', {
        status: 503,
        body: { code: 'internal_error', detail: 'no' },
      });
      expect(await run(['task', 'show', TASK, '-w'], { clock })).toMatchObject({ code: 5, out: '' });
      daemon.setAnswer('/v1/reports/task.status', { status: 200, body: reportExample('task.status') });
      let looks = 0;
      const { code, err } = await run(['task', 'show', TASK, '-w'], {
        clock: {
          ...clock,
          sleep: async () => {
            looks += 1;
            if (looks === 1) {
              const body = { code: 'internal_error', detail: 'restarting' };
              daemon.setAnswer('/v1/reports/task.status', { status: 503, body });
            } else {
              const body = endedTask('succeeded');
              daemon.setAnswer('/v1/reports/task.status', { status: 200, body });
            }
            await Promise.resolve();
          },
        },
      });
      expect([code, err]).toEqual([0, expect.stringContaining('503')]);
    });

    it('is refused by commands that do not read', async () => {
      const others = CTL_COMMANDS.filter(
        ({ optionTexts = [] }) => !optionTexts.some(([text]) => text.includes('--watch')),
      );
      expect(others.map(({ name }) => name)).toContain('run');
      expect((await ctl(['run', 'sync', '--watch'])).err).toContain('run has no option --watch');
    });
  });
});

const { task } = REPORTS['task.status'].answer.schema.parse(exampleOf(REPORTS['task.status'].answer));

function ended(result: Record<string, unknown>): typeof task {
  return { ...task, status: 'succeeded', failure_code: null, failure_reason: null, result };
}

describe('reports for people', () => {
  const NOW = 1_700_000_000;
  const VIEW = { now: NOW, wide: false, painter: PLAIN };

  describe('the text of a task', () => {
    it.each<readonly [string, Record<string, unknown>]>([
      [
        'r1: 333 containers, 140 parsed, 193 reused',
        { release_id: 'r1', generation: 7, containers: 333, parsed: 140, reused: 193, units: 8 },
      ],
      [
        'r1-l1: published, 1 replaced entry',
        {
          published: true,
          localized_release_id: 'r1-l1',
          release_id: 'r1',
          snapshot_id: 'blake3:0',
          entry_count: 9,
          coverage: 0.5,
          replaced_entries: 1,
        },
      ],
      ['r1: unchanged', { unchanged: true, release_id: 'r1', attestation_version: 7, written: 0 }],
      ['0 damaged', { damaged: 0, releases: [] }],
    ])('is short in a list, without digests and arguments: %s', (text, result) => {
      const list = renderTasks([ended(result)], VIEW);
      expect(list.trimEnd()).toMatch(new RegExp(`\\) +${text}(?:;|$)`));
      expect(list).not.toMatch(/blake3|=/);
    });

    it('is cut in a list, and has its arguments in a wide one', () => {
      const failed = {
        ...task,
        args: { force: true },
        failure_code: 'broken',
        failure_reason: 'x'.repeat(200),
      };
      expect(renderTasks([failed], VIEW)).toMatch(/broken: x{20,100}…\n$/);
      const wide = renderTasks([failed], { ...VIEW, wide: true, columns: 160 });
      expect(wide).toContain(' force=true ');
      expect(wide).toMatch(/broken: x+…\n$/);
      expect(Math.max(...wide.split('\n').map((line) => line.length))).toBe(160);
    });

    it.each([
      ['cut to the width of a terminal', { rows: 24, columns: 150 }, /^.{150}$/mu],
      ['whole for a program that reads it', {}, /^verify .{150,} withdrawn, and the task fails\.$/mu],
    ])('is %s', async (_how, terminal, line) => {
      const { out } = await ctl(['actions', '-o', 'wide', '--color', 'never'], terminal);
      expect(out).toMatch(line);
    });

    it('has what became of the records of an import', () => {
      const counts = { accepted: 3, repeated: 0, qa_blocked: 2 };
      expect(renderTasks([ended({ counts, issues: [], issues_left_out: 800 })], VIEW)).toMatch(
        / 3 accepted, 2 qa blocked\n$/,
      );
    });

    it('tells the share that a running task has done', () => {
      const progress = { done: 30, total: 60, unit: 'entries', phase: 'download' };
      expect(renderTasks([{ ...ended({}), status: 'running', progress }], VIEW)).toContain(
        'download: 50 % of 60 entries',
      );
    });

    it('has a short result on one line, and indents a long one without control characters', () => {
      expect(renderTask(ended({ written: 3 }), VIEW)).toContain('result: {"written":3}\n');
      const text = renderTask(ended({ written: 3, note: `${'y'.repeat(200)}\u202e` }), VIEW);
      expect(text).toContain('result:\n  {\n    "written": 3,\n');
      expect(text).not.toContain('\u202e');
    });

    it('has no groups of zeros in a long result, and short groups on one line', () => {
      const usage = { requests: 0, cost: 0 };
      const per_task = Array.from({ length: 5 }, (_, at) => ({ task_id: `tt_${at}`, units: 40 + at, usage }));
      const result = { units: { reused: 213, left: 7996 }, usage, stopped: null, tasks: 5, per_task };
      const text = renderTask(ended(result), VIEW);
      expect(text).not.toContain('requests');
      expect(text).toContain('    "units": {"reused":213,"left":7996},\n    "stopped": null,\n');
      const [, json = ''] = text.split('result:\n');
      expect(JSON.parse(json)).toEqual({
        units: result.units,
        stopped: null,
        tasks: 5,
        per_task: per_task.map(({ task_id, units }) => ({ task_id, units })),
      });
      expect(json.split('\n')).toHaveLength(13);
    });

    it('has how much a publication changes, and its first files', () => {
      const files = Array.from({ length: 22 }, (_, at) => ({
        destination: `a/${at}.json`,
        edited_units: at,
      }));
      const destinations = [...files, { destination: 'b/untranslated.json' }].map(({ destination }) => ({
        destination,
        coverage: destination.startsWith('a/') ? 0.5 : 0,
        units: { total: 2 },
      }));
      const text = renderTask(ended({ dry_run: true, containers: 22, files, destinations }), VIEW);
      const [, table = ''] = text.split('result: {"dry_run":true,"containers":22}\n');
      const lines = table.trimEnd().split('\n');
      expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
        ['22 files, 231 units'],
        ['FILE', 'UNITS', 'COVERAGE'],
        ...files.slice(0, 5).map(({ destination, edited_units: units }) => [destination, `${units}`, '50 %']),
        ['and 17 more: -o json has all'],
      ]);
    });

    it('counts no units of files that do not say how many they have', () => {
      const text = renderTask(ended({ files: [{ destination: 'a.json', size: 2048 }] }), VIEW);
      expect(text).toMatch(/^1 file, 2\.0 KiB$/m);
    });

    it('has the progress of a task until it has succeeded', () => {
      const progress = { done: 0, total: 333, unit: 'entries', phase: 'manifest' };
      expect(renderTask({ ...task, status: 'running', progress }, VIEW)).toMatch(
        /^progress: .* 0 of 333 entries$/m,
      );
      expect(renderTask({ ...ended({ written: 3 }), progress }, VIEW)).not.toContain('progress');
    });
  });

  describe('the list of releases', () => {
    it('says that a localized release is stale', () => {
      const { answer } = REPORTS['release.list'];
      const report = answer.schema.parse(exampleOf(answer));
      const [row] = report.releases;
      if (row === undefined) throw new Error('the example has no release');
      const text = (stale: boolean): string =>
        renderReleases({ ...report, releases: [{ ...row, channel: 'localized', stale }] }, VIEW, undefined);
      expect(text(true)).toMatch(/ current, stale /);
      expect(text(false)).not.toContain('stale');
    });

    it('says which one was rolled back, and begins with that which became current last', () => {
      const { answer } = REPORTS['release.list'];
      const report = answer.schema.parse(exampleOf(answer));
      const [row] = report.releases;
      if (row === undefined) throw new Error('the example has no release');
      const undone = { at: 1, reviewer: null, reason: null };
      const [of] = REPORTS['translation.status'].answer.schema.parse(
        exampleOf(REPORTS['translation.status'].answer),
      ).history;
      if (of === undefined) throw new Error('the example has no history');
      const releases = [
        { ...row, release_id: 'l2', state: 'superseded' as const, published_at: 200 },
        // A rollback has made the earlier one current again.
        { ...row, release_id: 'l1', published_at: 300 },
        { ...row, release_id: 'made', state: 'failed' as const, published_at: null, created_at: 250 },
      ];
      const history = ['l1', 'l2'].map((id) => ({ ...of, localized_release_id: id, rolled_back: undone }));
      const lines = renderReleases({ ...report, releases }, VIEW, history)
        .split('\n')
        .slice(1, 4);
      expect(lines).toEqual([
        expect.stringMatching(/ l1 +current /),
        expect.stringMatching(/ made +failed /),
        expect.stringMatching(/ l2 +rolled_back /),
      ]);
    });
  });
});

const AUTHOR = { kind: 'person', token_id: 'mika', provider: null, provider_run_id: null } as const;

const example = <N extends ReportName>(
  name: N,
  change: object = {},
): ReturnType<(typeof REPORTS)[N]['answer']['schema']['parse']> =>
  REPORTS[name].answer.schema.parse({ ...exampleOf(REPORTS[name].answer), ...change }) as never;

const lines = (text: string): string[] => text.trimEnd().split('\n');

describe('the work on translations for people', () => {
  const NOW = 1_763_683_260;
  const VIEW = { now: NOW, wide: false, painter: PLAIN };

  describe('the coverage for people', () => {
    it('has shares, states and each blocker', () => {
      const { coverage } = example('translation.status');
      const [published] = example('translation.status').history;
      const rolledBack = { at: NOW - 60, reviewer: 'Rin', reason: 'wrong tone' };
      const history = [published, { ...published, rolled_back: rolledBack }];
      const automation = { state: 'stopped', message: 'stopped by a rollback', since: NOW - 60 };
      const publish_blockers = [
        ...example('translation.status').publish_blockers,
        { code: 'below_min_state', count: 50, message: 'drafts; localized.minState demands translated' },
        {
          code: 'untranslated',
          count: 58,
          message: 'units without a translation',
          unit_state: 'untranslated',
        },
      ];
      const change = { current: null, coverage, history, automation, publish_blockers };
      const report = example('translation.status', change);
      expect(lines(renderCoverage(report, VIEW))).toEqual([
        'release:                1.66.405117',
        'language:               zh-Hans',
        'localized:              none',
        expect.stringMatching(/^rolled back: +1\.66\.405117-l1, 2025-.*\(1m ago\) by Rin: wrong tone$/),
        'follows:                stopped: stopped by a rollback',
        'units:                  40213',
        'accepted (proofread):   40000 (99 %)',
        'translated or accepted: 40100 (99 %)',
        'states:                 untranslated 60, draft 50, translated 100, proofread 40000, blocked 3',
        'blocks publishing:      3 qa_blocked: units with blocking findings; slipway ctl translations handoff lists them',
        'not published:          50 below_min_state: drafts; localized.minState demands translated',
        'not published:          58 of 60 untranslated: units without a translation; the others are on hold, or in files or tasks that are not published',
      ]);
    });

    it('says what a localized release that follows is built on, without its state', () => {
      const automation = { state: 'followed', message: 'the localized release is built on r1', since: null };
      const text = renderCoverage(example('translation.status', { automation }), VIEW);
      expect(text).toMatch(/^follows: +the localized release is built on r1$/m);
    });

    it('tells units in skipped tasks only when there are some', () => {
      const { coverage } = example('translation.status');
      const text = renderCoverage(
        example('translation.status', { coverage: { ...coverage, skipped: 8 } }),
        VIEW,
      );
      expect(text).toMatch(/^units: +40213, 8 in skipped tasks$/m);
    });

    it('tells how many blocked units prevent nothing', () => {
      const { coverage } = example('translation.status');
      const change = { coverage: { ...coverage, blocked_left_out: 2 } };
      expect(renderCoverage(example('translation.status', change), VIEW)).toContain(
        'blocked 3 (2 in files or tasks that are not published)\n',
      );
    });

    it('has no shares of nothing', () => {
      const { coverage } = example('translation.status');
      const none = { ...coverage, release_id: null, units: 0, accepted: 0, translated: 0, by_state: {} };
      const text = renderCoverage(example('translation.status', { coverage: none }), VIEW);
      expect(text).toContain('accepted (proofread):   0\n');
      expect(text).toContain('release:                -\n');
      expect(text).toContain('localized:              1.66.405117-l1, current, ok, became current 2025-');
    });
  });

  describe('the work for translators, for people', () => {
    it('lists ready tasks and blocked units, and says that there are more', () => {
      const [release] = example('translation.handoff').releases;
      const releases = [
        {
          ...release,
          ready: (release?.ready ?? []).map((task) => ({
            ...task,
            status: 'failed',
            failure_reason: 'lease_expired',
          })),
          ready_total: { tasks: 3, units: 90 },
          blocked: (release?.blocked ?? []).map((unit) => ({ ...unit, left_out: 'excluded_file' })),
          blocked_total: 5,
          held_total: 7,
        },
        {
          ...release,
          release_id: 'r0',
          counts: { superseded: 2 },
          ready: [],
          blocked: [],
          ready_total: { tasks: 0, units: 0 },
          blocked_total: 0,
          held_total: 0,
          held: [],
        },
      ];
      const last = { release_id: 'r0', file: 'r0.xlf', sha256: 'ab', units: 7, created_at: NOW - 60 };
      const text = renderHandoff(example('translation.handoff', { releases, last_export: last }), VIEW);
      expect(text).toContain('release 1.66.405117: pending 3, blocked 1\n');
      expect(text).toContain('release r0:          superseded 2\n');
      expect(text).toMatch(/ failed +20 +TableBundles\/Excel\.zip!\/ScenarioScript\.json +lease_expired\n/);
      expect(text).toContain('and 2 more tasks; 90 units in all\n');
      expect(text).toContain('and 4 more blocked units\n');
      expect(text).toMatch(/ term_missing \(excluded_file\) /);
      expect(text).toMatch(/tu1_\w+ +tt_\w+ +rin +wrong tone\n/);
      expect(text).toContain('and 6 more units on hold\n');
      expect(text).toMatch(/last export: +r0\.xlf, 7 units of r0, .*\(1m ago\)\n/);
    });

    it('is short when there is nothing to do, and honest about the Translation Memory', () => {
      const text = renderHandoff(
        example('translation.handoff', { releases: [], open_conflicts: null, last_export: null }),
        VIEW,
      );
      expect(lines(text)).toEqual([
        'conflicts:   unknown: the Translation Memory cannot be used',
        'last export: none',
      ]);
    });
  });

  describe('translation tasks for people', () => {
    it('say why, and where the next ones are', () => {
      const [task] = example('translation.tasks').items;
      const items = [
        { ...task, failure_reason: 'http 500', reason: 'again' },
        { ...task, archive_entry: null, lease_owner: 'w1' },
      ];
      const text = renderTranslationTasks(example('translation.tasks', { items, total: 9, offset: 4 }), VIEW);
      expect(lines(text)[1]).toMatch(/TableBundles\/Excel\.zip!\/ScenarioScript\.json +http 500; again$/);
      expect(lines(text)[2]).toMatch(/TableBundles\/Excel\.zip +leased by w1$/);
      expect(lines(text)[3]).toBe('9 tasks: translated 1; --offset 6 shows more');
      const none = example('translation.tasks', { items: [], total: 0, counts: {} });
      expect(renderTranslationTasks(none, VIEW)).toBe('there are no such translation tasks\n');
    });
  });

  describe('a text unit for people', () => {
    const report = (change: object, page: object = {}) => {
      const [unit] = example('parse.text_units').items;
      const translation = { ...unit?.translation, ...change };
      return example('parse.text_units', { items: [{ ...unit, translation }], ...page });
    };

    it('has decisions, findings and the history', () => {
      const finding = {
        check: 'kana_residue',
        origin: 'target',
        severity: 'warning',
        message: 'the target has kana',
        waivable: true,
        source_span: null,
        target_span: null,
      };
      const entry = {
        revision: 1,
        target_text: '早'.repeat(70),
        source_text: 'おはよう',
        is_cut: false,
        state: 'draft',
        author: AUTHOR,
        reviewer: 'Mika',
        reviewer_token_id: 'token-2',
        reason: 'too formal',
        model: null,
        prompt_digest: null,
        glossary_generation: null,
        task_id: null,
        release_id: null,
        returned: null,
        propagated_from: null,
        at: NOW - 60,
      };
      const text = renderUnit(
        report(
          {
            state: 'stale',
            target_text: null,
            previous_source: 'まえ',
            previous_target: '之前',
            author: AUTHOR,
            findings: [finding, { ...finding, check: 'empty_target', severity: 'error' }],
            waivers: [{ check: 'kana_residue', reviewer: 'M', reason: 'r', token_id: null, at: 1 }],
            hold: { reviewer: 'Mika', reason: 'wait', at: NOW - 60 },
            claim: { owner: 'mika', expires_at: NOW + 60 },
            lease: { owner: 'w1', expires_at: NOW + 60 },
          },
          { history: { items: [entry], is_cut: true } },
        ),
        VIEW,
      );
      expect(text).toMatch(/state: +stale, revision 2\n/);
      expect(text).toMatch(/previous source: +まえ\n/);
      expect(text).toMatch(/author: +person by token mika\n/);
      expect(text).toMatch(/hold: +Mika, wait, .*\(1m ago\)\n/);
      expect(text).toMatch(/claim: +mika, expires .*\(in 1m\)\n/);
      expect(text).toMatch(/lease: +w1, expires .*\(in 1m\)\n/);
      expect(text).toMatch(/warning kana_residue: +the target has kana \(waived\)\n/);
      expect(text).toMatch(/error empty_target: +the target has kana\n/);
      expect(text).not.toMatch(/^target:/m);
      expect(text).toMatch(
        /^1 +\S+ \S+ \(1m ago\) +draft +person by token mika +Mika: too formal +早{29}…$/m,
      );
      expect(text.endsWith('older entries are not shown\n')).toBe(true);
    });

    it('says that translations are not available, that others have the field, or that there is none', () => {
      const [unit] = example('parse.text_units').items;
      const translations = {
        available: false,
        reason: 'translation.db cannot be used',
        source_language: null,
        target_language: null,
        tasks_built: false,
      };
      const without = { items: [{ ...unit, translation: null }], translations };
      expect(renderUnit(example('parse.text_units', without), VIEW)).toMatch(
        /translation: +translation\.db cannot be used\n/,
      );
      expect(renderUnit(report({}, { total: 3 }), VIEW)).toContain(
        'and 2 more units have this field; name the archive entry\n',
      );
      expect(renderUnit(example('parse.text_units', { items: [], total: 0 }), VIEW)).toContain(
        'no text unit',
      );
    });
  });
});

interface Shown {
  readonly written: readonly string[];
  readonly show: (afterMs: number, text: string, phase?: string) => void;
  readonly end: () => void;
}

function display(terminal: { readonly isTTY?: boolean; readonly columns?: number }): Shown {
  let now = 0;
  const written: string[] = [];
  const clock = { now: () => now, monotonic: () => now, sleep: async () => await Promise.resolve() };
  const line = createProgressDisplay({ ...terminal, write: (text) => written.push(text) }, clock);
  return {
    written,
    end: () => {
      line.end();
    },
    show: (afterMs, text, phase) => {
      now += afterMs;
      line.show(text, phase);
    },
  };
}

describe('the display of progress', () => {
  test('without a terminal a line is for a new phase and for 10 seconds', () => {
    const { written, show, end } = display({});
    show(100, 'download 1 %', 'download');
    for (let percent = 2; percent < 22; percent += 1) show(1000, `download ${percent} %`, 'download');
    show(100, 'verify 1 %', 'verify');
    end();
    expect(written).toEqual(['download 1 %\n', 'download 11 %\n', 'download 21 %\n', 'verify 1 %\n']);
  });

  test('a terminal has one line, which is cut so that it does not wrap', () => {
    const { written, show, end } = display({ isTTY: true, columns: 10 });
    show(300, 'download 1 %');
    show(300, 'short');
    end();
    expect(written).toEqual(['\r\u001b[Kdownload…', '\r\u001b[Kshort', '\r\u001b[K']);
  });
});
