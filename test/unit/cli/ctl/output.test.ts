import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CTL_COMMANDS } from '../../../../src/cli/ctl/ctl-commands.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { ctl } from '../../../support/ctl.ts';
import { ctlService, endedTask, reportExample } from '../../../support/ctl-service.ts';

const TASK = '01KAJ2X6V5Q0E8T9R3W7Y1Z4BC';

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
    const coloured = async (argv: string[], env: Record<string, string>, rows?: number): Promise<boolean> => {
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
    const others = CTL_COMMANDS.filter(({ options }) => !options.some((option) => option === 'watch'));
    expect(others.map(({ name }) => name)).toContain('run');
    expect((await ctl(['run', 'sync', '--watch'])).err).toContain('run has no option --watch');
  });
});
