import { exampleOf } from '../../../scripts/reference/examples.ts';
import { createServer } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../src/platform/http/listen.ts';
import { VERDICT_EXAMPLE } from '../../../scripts/reference/example-answers.ts';
import { CTL_COMMANDS } from '../../../src/cli/ctl/ctl-commands.ts';
import { renderStatus } from '../../../src/cli/ctl/status-view.ts';
import { AcceptedAnswer } from '../../../src/contract/schemas/answers/admin.ts';
import { PLAIN } from '../../../src/platform/terminal/painter.ts';
import { ADMIN_TOKEN, startAdminServer } from '../../support/admin-client.ts';
import { ctl, type CtlRun } from '../../support/ctl.ts';
import { ctlService, endedTask, reportExample } from '../../support/ctl-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

describe('reads', () => {
  it.each([
    [['releases'], 'release.list', 'r90_', 'CHANNEL'],
    [['tasks'], 'task.list', 'running', 'TASK'],
    [['task', 'show', 'x'], 'task.status', 'download', 'status'],
    [['schedules'], 'schedule.list', 'nightly-verify', 'EVERY'],
    [['doctor'], 'daemon.doctor', 'store.writable', 'CHECK'],
    [['logs'], 'daemon.logs', 'sync finished', 'info'],
    [['logs', '--task', 'x'], 'task.logs', '{"entries":8123}', 'catalog fetched'],
    [['translations', 'status'], 'translation.status', '40000 (99 %)', 'accepted (proofread):'],
    [['translations', 'handoff'], 'translation.handoff', 'term_missing', 'READY TASK'],
    [['translations', 'tasks'], 'translation.tasks', 'translated 20', 'WORKER'],
    [['translations', 'unit', 'a', '/b'], 'parse.text_units', '早上好', 'revision 2'],
    [['report', 'translation.handoff'], 'translation.handoff', '"report": "translation.handoff"', '{\n'],
  ] as const)(
    "%j is a table for people and the daemon's bytes for scripts",
    async (argv, report, ...texts) => {
      const { run, daemon } = await ctlService();
      const bytes = JSON.stringify(reportExample(report)).replace('{', '{ "huge":9223372036854775807,');
      daemon.setAnswer(`/v1/reports/${report}`, { status: 200, body: bytes });
      const shown = await run(argv);
      expect([shown.code, shown.err]).toEqual([0, '']);
      for (const text of texts) if (text !== 'r90_') expect(shown.out).toContain(text);
      const json = await run([...argv, '-o', 'json']);
      // The server adds its own findings to the doctor.
      if (report === 'daemon.doctor') expect(json.out).toContain('"huge":9223372036854775807');
      else expect(json).toEqual({ code: 0, out: `${bytes}\n`, err: '' });
    },
  );

  it('translations tasks asks for the tasks of files', async () => {
    const { run, daemon } = await ctlService();
    daemon.setReport('translation.tasks', reportExample('translation.tasks'));
    const { code, out } = await run(['translations', 'tasks', '--destination', 'a/*.csv', '-o', 'name']);
    expect([code, out]).toEqual([0, 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC\n']);
    expect(daemon.requests.at(-1)).toContain('destination=a%2F*.csv');
  });

  it('tasks says of each task how it goes, or why it exists', async () => {
    const { run, daemon } = await ctlService();
    const [task] = (reportExample('task.list') as { items: object[] }).items;
    const plain = { ...task, progress: null, args: {} };
    const items = [
      {
        ...plain,
        task_id: 'A',
        status: 'succeeded',
        result: { release_id: 'r1', files: {}, unchanged: true },
      },
      { ...plain, task_id: 'B', status: 'queued', args: { force: true }, schedule_id: 'nightly' },
      { ...plain, task_id: 'C', status: 'cancelled', cancel_requested_at: 1, cancel_reason: 'enough' },
      { ...plain, task_id: 'D', status: 'failed', failure_code: 'timeout', failure_reason: 'too slow' },
      { ...plain, task_id: 'E', status: 'queued', reason: 'an operator asked' },
      { ...plain, task_id: 'F', status: 'queued' },
    ];
    daemon.setReport('task.list', { ...reportExample('task.list'), items });
    const { out } = await run(['tasks']);
    const details = out
      .split('\n')
      .slice(1, -1)
      .map((line) => line.replace(/^.* ago\) +/, ''));
    expect(details).toEqual([
      'r1: unchanged',
      'schedule nightly',
      'cancelled: enough',
      'timeout: too slow',
      'an operator asked',
      '-',
    ]);
  });

  it('logs shows the fields of the lines of the daemon', async () => {
    const { run, daemon } = await ctlService();
    const line = { ts: 1_763_683_200, level: 'warn', msg: 'slow disk', fields: { ms: 1500, path: '/x' } };
    daemon.setReport('daemon.logs', { ...reportExample('daemon.logs'), lines: [line] });
    expect((await run(['logs'])).out).toContain('slow disk {"ms":1500,"path":"/x"}');
  });

  it('shows JSON and fails if a daemon of another version, or another program, answers', async () => {
    const { run, daemon } = await ctlService();
    daemon.setAnswer('/v1/reports/release.list', {
      status: 200,
      body: '{"releases":5,"n":9007199254740993}',
    });
    expect(await run(['releases'])).toMatchObject({
      code: 3,
      out: '{\n  "releases": 5,\n  "n": 9007199254740993\n}\n',
      err: expect.stringContaining('cannot read the answer') as unknown,
    });
    for (const path of ['/v1/reports/daemon.doctor', '/v1/reports/task.status']) {
      daemon.setAnswer(path, { status: 200, body: '{}' });
    }
    const commands = [['doctor'], ['doctor', '-o', 'json'], ['task', 'show', 'x']];
    for (const command of commands) expect((await run(command)).code, command.join(' ')).toBe(3);
  });

  it('status names a few damaged files, counts the others, and says whether a repair runs', async () => {
    const { run, daemon } = await ctlService();
    const { official, ...report } = reportExample('release.status');
    const damaged = Array.from({ length: 100 }, (_, index) => `Windows/${index}.bundle`);
    daemon.setReport('release.status', {
      ...report,
      official: { ...(official as object), integrity: 'damaged', damaged, damaged_count: 319 },
    });
    daemon.setReport('task.list', { ...reportExample('task.list'), items: [] });
    const { out } = await run(['status']);
    expect(out.match(/^damaged: +(.*)$/gmu)).toHaveLength(6);
    expect(out).toMatch(/^damaged: +and 314 more$/mu);
    expect(out).toMatch(/^official release: +\S+, current, damaged, oldest check 2025-/mu);
    expect(out).toMatch(/^relation: +there is no localized release$/mu);
    expect(out).toMatch(/^repair: +none is queued or running$/mu);
    expect(out).toMatch(/^daemon: +answers$/mu);
    const [task] = (reportExample('task.list') as { items: object[] }).items;
    const items = [{ ...task, kind: 'damage-repair', status: 'running', task_id: 'T9', progress: null }];
    daemon.setReport('task.list', { ...reportExample('task.list'), items });
    expect((await run(['status'])).out).toMatch(/^repair: +running \(T9\)$/mu);
  });

  it('status says in words how the channels relate, and that a release is not checked in full', async () => {
    const { run, daemon } = await ctlService();
    const { official, ...report } = reportExample('release.status');
    const unchecked = { ...(official as object), integrity: 'unverified', verified_at: null };
    daemon.setReport('release.status', { ...report, official: unchecked, relation: 'in_sync' });
    const { out } = await run(['status']);
    expect(out).toMatch(/^official release: +\S+, current, unverified, not checked in full$/mu);
    expect(out).toMatch(
      /^relation: +in sync: the localized release was made for the current official one$/mu,
    );
  });

  it('status says that a stale localized release is not distributed', async () => {
    const { run, daemon } = await ctlService();
    const { official, ...report } = reportExample('release.status');
    for (const relation of ['stale', 'in_sync']) {
      daemon.setReport('release.status', { ...report, official, localized: official, relation });
      const { out } = await run(['status']);
      expect(out).toMatch(/^official release: +\S+, current, ok, /mu);
      const words = relation === 'stale' ? 'current, stale \\(not distributed\\), ok' : 'current, ok';
      expect(out).toMatch(new RegExp(`^localized release: +\\S+, ${words}, `, 'mu'));
    }
  });

  it('status shows the verdict alone while /healthz gives no usable answer', () => {
    const readiness = {
      ...VERDICT_EXAMPLE,
      distributable: false,
      reason: 'EntryMissing' as const,
      message: 'no usable object for 1 entry',
    };
    const shown = renderStatus(
      { readiness, health: null, releases: null, repairs: null },
      { now: 1_763_683_200, wide: false, painter: PLAIN },
    );
    expect(shown).toMatch(/^state: +not served \(EntryMissing\)$/mu);
    expect(shown).toMatch(/^because: +no usable object for 1 entry$/mu);
  });

  it('status says that an edge does not wait for the next sync', () => {
    const view = { now: 1_763_683_200, wide: false, painter: PLAIN };
    const readiness = { ...VERDICT_EXAMPLE, distributable: true, reason: null, message: 'served' };
    const edge = reportExample('release.status');
    const shown = (releases: object): string =>
      renderStatus(
        {
          readiness,
          health: null,
          releases: releases as Parameters<typeof renderStatus>[0]['releases'],
          repairs: null,
        },
        view,
      );
    expect(shown(edge)).toMatch(/^sync: .*, or when a poll of the origin finds a change$/mu);
    expect(shown({ ...edge, origin: undefined })).not.toContain('poll of the origin');
  });

  it.each([
    [
      'cannot be reached',
      { daemonUrl: 'http://127.0.0.1:1' },
      'has been unreachable',
      'Start the daemon; if it exits again, read its log or that of its supervisor, which says why.',
    ],
    ['hangs', {}, 'has not answered', 'Restart the daemon if it hangs.'],
  ])('status, doctor and health say the same of a daemon that %s', async (_what, options, text, next) => {
    const server = await startAdminServer(options);
    const run = async (command: string): Promise<CtlRun> =>
      await ctl(['--url', server.url, '--token-file', server.tokenFile, command]);
    server.daemon.setFault('hang');
    const doctor = await run('doctor');
    const [sentence = ''] = /The daemon ha[^.]*\. [^.]*\./.exec(doctor.err) ?? [];
    expect([doctor.code, sentence]).toEqual([5, expect.stringContaining(text)]);
    expect(sentence).toContain(next);
    const { out } = await run('status');
    expect(out).toMatch(new RegExp(`^because: .*the daemon ${text} since `, 'mu'));
    expect(out).toMatch(new RegExp(`^next step: +${next}$`, 'mu'));
    expect(out).toMatch(/^daemon: +does not answer$/mu);
    const health = (await (await fetch(`${server.url}/healthz`)).json()) as object;
    expect(health).toMatchObject({ status: 'degraded', daemon: { answers: false, message: sentence } });
  });

  it('status says that the daemon answers once it answers again', async () => {
    const server = await startAdminServer();
    const run = async (): Promise<CtlRun> =>
      await ctl(['--url', server.url, '--token-file', server.tokenFile, 'status']);
    server.daemon.setFault('hang');
    expect((await run()).out).toMatch(/^daemon: +does not answer$/mu);
    server.daemon.setFault(null);
    server.daemon.setReport('release.status', reportExample('release.status'));
    expect((await run()).out).toMatch(/^daemon: +answers$/mu);
  });

  it('status ends with 1 and names the failed checks, also when the daemon is silent', async () => {
    const { run } = await ctlService();
    const shown = await run(['status']);
    expect(shown.code).toBe(1);
    expect(shown.out).toMatch(/^state: +starting \(AttestationUnavailable\)$/mu);
    expect(shown.out).toMatch(/^check attestation-accepted: +failed$/mu);
    expect(shown.out).toMatch(/^check entries-undamaged: +-$/mu);
    expect(shown.out).toContain('the release report is not available');
    const { code, out } = await run(['status', '-o', 'json']);
    expect([code, JSON.parse(out)]).toMatchObject([
      1,
      {
        readiness: { distributable: false },
        health: { status: 'degraded', service: { state: 'starting' } },
        release_status: null,
      },
    ]);
    expect(Object.keys(JSON.parse(out) as object)).toEqual(['readiness', 'health', 'release_status']);
  });

  it('doctor ends with 1 only when something is failing, and lists the worst first', async () => {
    const { run, daemon } = await ctlService();
    const check = (id: string, status: string) => ({
      id,
      status,
      message: `m-${id}`,
      since: 1,
      evaluated: true,
    });
    const report = { ...reportExample('daemon.doctor'), status: 'failing' };
    daemon.setReport('daemon.doctor', {
      ...report,
      checks: [check('a', 'ok'), check('b', 'failing'), check('c', 'degraded')],
    });
    const { code, out } = await run(['doctor']);
    expect(code).toBe(1);
    expect([out.indexOf('m-b') < out.indexOf('m-c'), out.indexOf('m-c') < out.indexOf('m-a')]).toEqual([
      true,
      true,
    ]);
    daemon.setReport('daemon.doctor', { ...report, status: 'degraded', checks: [] });
    expect((await run(['doctor'])).code).toBe(0);
    // A check of something that has not happened yet says nothing.
    const unjudged = { ...check('sync', 'ok'), evaluated: false };
    daemon.setReport('daemon.doctor', { ...report, status: 'ok', checks: [unjudged] });
    expect((await run(['doctor'])).out).toMatch(/^sync +- /m);
  });

  it('logs -f prints each line once, and ends with Ctrl-C', async () => {
    const { run, daemon } = await ctlService();
    const line = (msg: string) => ({ ts: 1_763_683_200.5, level: 'info', msg });
    const setLines = (...lines: object[]): void =>
      daemon.setReport('daemon.logs', { ...reportExample('daemon.logs'), lines });
    setLines(line('first'), line('second'));
    const interrupted = new AbortController();
    const { code, out } = await run(['logs', '-f', '--tail', '1'], {
      signal: interrupted.signal,
      onOutput: (text) => {
        if (text.includes('third')) interrupted.abort(new Error('SIGINT'));
        else setLines(line('first'), line('second'), line('third'));
      },
    });
    expect([code, out.split('\n').map((each) => each.slice(-6))]).toEqual([130, ['second', ' third', '']]);
  });
});

describe('actions', () => {
  it('are sent with an idempotency key, and --wait exits with the result of the task', async () => {
    const { run, daemon } = await ctlService();
    daemon.setAnswer('/v1/control/sync', { status: 202, body: exampleOf(AcceptedAnswer) });
    expect(await run(['run', 'sync', 'force=true'])).toMatchObject({ code: 0, err: '' });
    const [first] = daemon.received;
    expect([first?.body, typeof first?.headers['idempotency-key']]).toEqual(['{"force":true}', 'string']);
    daemon.setReport('task.status', endedTask('succeeded'));
    expect(await run(['run', 'sync', '--wait'])).toMatchObject({ code: 0 });
    daemon.setReport('task.status', endedTask('succeeded', { outcome: 'partly' }));
    expect(await run(['run', 'sync', '--wait'])).toMatchObject({ code: 7 });
    daemon.setReport('task.status', endedTask('failed'));
    const failed = await run(['run', 'sync', '--wait', '-o', 'json']);
    expect([failed.code, JSON.parse(failed.out)]).toMatchObject([1, { task: { status: 'failed' } }]);
    daemon.setReport('task.status', reportExample('task.status'));
    expect(await run(['run', 'sync', '--wait', '--wait-timeout', '0'])).toMatchObject({ code: 6, out: '' });
  });

  it('wait for the tasks that a schedule starts', async () => {
    const { run, daemon } = await ctlService();
    daemon.setAnswer('/v1/control/schedule-run', { status: 202, body: exampleOf(AcceptedAnswer) });
    daemon.setReport('task.status', endedTask('succeeded', { task_ids: ['T8', 'T9'] }));
    expect((await run(['run', 'schedule-run', 'id=configured:backup', '--wait'])).code).toBe(0);
    expect(daemon.requests.filter((request) => /task_id=T[89]/.test(request))).toHaveLength(2);
  });

  it('take a body from --body and from standard input, without changing its numbers', async () => {
    const { run, daemon } = await ctlService();
    daemon.setAnswer('/v1/control/release-cleanup', { status: 202, body: exampleOf(AcceptedAnswer) });
    const body = '{"count":9223372036854775807}';
    await run(['run', 'release-cleanup', '--yes', '--body', body]);
    await run(['run', 'release-cleanup', '--yes', '-'], { stdin: body });
    expect(daemon.received.map((each) => each.body)).toEqual([body, body]);
    expect((await run(['run', 'release-cleanup', '-', '--body', body])).code).toBe(2);
  });

  it('cancel a task with a reason', async () => {
    const { run, daemon } = await ctlService();
    daemon.setAnswer('/v1/control/task-cancel', { status: 202, body: exampleOf(AcceptedAnswer) });
    await run(['task', 'cancel', 'T1', '--reason', 'enough', '-y']);
    expect(daemon.received[0]?.body).toBe('{"task_id":"T1","reason":"enough"}');
  });

  it.each([
    [409, 'release_protected', 1],
    [501, 'not_implemented', 5],
    [400, 'invalid_request', 2],
    [503, 'internal_error', 5],
  ])('a daemon that answers %d %s gives exit code %d', async (status, code, exit) => {
    const { run, daemon } = await ctlService();
    daemon.setAnswer('/v1/control/sync', { status, body: { code, detail: 'said so' } });
    const { err, ...rest } = await run(['run', 'sync']);
    expect(rest).toEqual({ code: exit, out: '' });
    expect(err.includes('--idempotency-key')).toBe(exit === 5);
  });

  it('a rejection shows the status and code of the daemon, not the 502 of the service', async () => {
    const { run, daemon } = await ctlService();
    const body = { code: 'term_exists', detail: 'update that one' };
    daemon.setAnswer('/v1/control/sync', { status: 409, body });
    const { err } = await run(['run', 'sync']);
    expect(err).toContain('update that one (daemon: 409 term_exists)');
    expect(err).not.toContain('502');
  });
});

describe('failures before an answer', () => {
  it('a wrong token is 4, a service that is down 3, and another program on the port 3', async () => {
    const { url } = await ctlService();
    const wrong = { env: { SLIPWAY_CTL_TOKEN: 'wrong-token' } };
    const denied = await ctl(['--url', url, 'tasks'], wrong);
    expect([denied.code, denied.err.includes('wrong-token')]).toEqual([4, false]);
    expect(denied.err).toContain(`${url} rejects the admin token; check that it is the one of this service`);
    const missing = await ctl(['--url', url, 'tasks']);
    expect(missing.code).toBe(4);
    expect(missing.err).toContain(`${url} needs an admin token, and none is set; give one with --token-file`);
    const other = await listen(
      createServer((_request, response) =>
        response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('<html>'),
      ),
      { host: '127.0.0.1', port: 0 },
    );
    onTestFinished(async () => await other.close(AbortSignal.abort()));
    expect(await ctl(['--url', other.url, 'tasks'], wrong)).toMatchObject({ code: 3 });
    await other.close();
    const down = await ctl(['--url', other.url, 'tasks']);
    expect([down.code, down.err]).toEqual([3, expect.stringContaining('ECONNREFUSED')]);
  });

  it('takes the token from the environment, a file named there, or an option, with increasing precedence', async () => {
    const server = await startAdminServer({ daemonTimeoutMs: 10_000 });
    server.daemon.setReport('task.list', reportExample('task.list'));
    const ask = async (argv: string[], env: Record<string, string>): Promise<number> =>
      (await ctl(['--url', server.url, ...argv, 'tasks'], { env })).code;
    expect(await ask([], { SLIPWAY_CTL_TOKEN: ADMIN_TOKEN })).toBe(0);
    expect(await ask([], { SLIPWAY_CTL_TOKEN: 'wrong', SLIPWAY_CTL_TOKEN_FILE: server.tokenFile })).toBe(0);
    expect(await ask(['--token-file', server.tokenFile], { SLIPWAY_CTL_TOKEN_FILE: '/nowhere' })).toBe(0);
    expect(await ask([], { SLIPWAY_CTL_TOKEN_FILE: '/nowhere' })).toBe(2);
    const bad = join(await temporaryDirectory(), 'token');
    await writeFile(bad, 'two words');
    expect(await ask(['--token-file', bad], {})).toBe(2);
  });

  it.each([
    [['tasks', '--token', 'secret-word'], 'can be read by every user'],
    [['tasks', '--token=secret-word'], 'can be read by every user'],
    [[], 'a command is missing'],
    [
      ['taks'],
      'slipway ctl: there is no command "taks"; did you mean "tasks"?\nFor help: slipway ctl --help\n',
    ],
    [['task', 'shwo'], 'there is no command "task shwo"; did you mean "task show"?'],
    [['translatoins', 'status'], 'did you mean "translations"?'],
    [['task'], '"task" needs one more word: task show, task cancel'],
    [['tasks', 'extra'], 'usage: tasks'],
    [['translations', 'tasks', '--status', 'nonsense'], '--status must be one of pending, in_progress, '],
    [['tasks', '--follow'], 'tasks has no option --follow'],
    [
      ['tasks', '--limti', '3'],
      'there is no option --limti; did you mean "--limit"?\nFor help: slipway ctl tasks --help\n',
    ],
    [['tasks', '--limit'], '--limit needs a value'],
    [['tasks', '--watch=3'], '--watch takes no value'],
    [['tasks', '--limit', '0'], '--limit 0: must be a whole number'],
    [['tasks', '-o', 'xml'], 'must be table, wide, name, json or yaml'],
    [['status', '-o', 'name'], 'status lists no names; releases, tasks, '],
    [['tasks', '--color', 'green'], 'must be auto, always or never'],
    [['tasks', '--status', 'runing'], 'must be one of queued, running, '],
    [['tasks', '-o', 'json', '--status', 'failed'], 'leave --status'],
    [['logs', '-f', '-o', 'json'], 'cannot be used with'],
    [['run', 'snyc'], 'there is no action "snyc"; did you mean "sync"?'],
    [['report', 'nothing'], 'there is no report "nothing"'],
    [['report', 'task.lst'], 'did you mean "task.list"?'],
    [['report', 'task.status', 'task_id'], 'not of the form parameter=value'],
    [['tasks', '--url', 'http://u:secret-word@h/'], 'without a user'],
    [['tasks', '--url', 'http://h/', '-n', 'ns'], 'not both'],
    [['tasks', '--frobnicate'], 'frobnicate'],
  ])('%j is a usage error', async (argv, message) => {
    const { code, out, err } = await ctl(argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(message);
    expect(err).not.toContain('secret-word');
  });

  it('warns before a token goes over http to another machine', async () => {
    const env = { SLIPWAY_CTL_TOKEN: ADMIN_TOKEN };
    const { code, err } = await ctl(['--url', 'http://slipway.invalid', '--timeout', '5', 'tasks'], { env });
    expect([code, err]).toEqual([
      3,
      expect.stringContaining('warning: the token goes to slipway.invalid over http'),
    ]);
  });

  it('lists the commands that begin with a word in the help of the word', async () => {
    const { code, out } = await ctl(['translations', '--help']);
    const group = CTL_COMMANDS.filter(({ name }) => name.startsWith('translations '));
    expect([code, group.filter(({ name }) => !out.includes(`  ${name}`))]).toEqual([0, []]);
    expect(out).not.toContain('  task show');
    expect(await ctl(['help', 'translations'])).toEqual({ code, out, err: '' });
    expect((await ctl(['translations', 'stauts', '--help'])).err).toContain(
      'did you mean "translations status"?',
    );
  });

  it('names the reports and their parameters in the help of report, and that help for an unknown one', async () => {
    const { out } = await ctl(['report', '--help']);
    expect(out).toContain('  task.status ');
    expect(out).toContain('Parameters: task_id.');
    const unknown = await ctl(['--url', 'http://127.0.0.1:1', 'report', 'foo']);
    expect([unknown.code, unknown.err]).toEqual([
      2,
      expect.stringContaining('there is no report "foo"; "report --help" lists them\n'),
    ]);
    expect((await ctl(['--url', 'http://127.0.0.1:1', 'report', 'task.lists'])).err).toContain(
      'did you mean "task.list"?',
    );
  });

  it('has help for itself, for every first word and for every command, at most 100 characters wide', async () => {
    const commands = CTL_COMMANDS.map(({ name }) => [...name.split(' '), '--help']);
    const firsts = commands.map(([first = '']) => [first, '--help']);
    for (const argv of [['--help'], ['help'], ['help', 'task', 'cancel'], ...firsts, ...commands]) {
      const { code, out, err } = await ctl(argv);
      expect([argv, code, err]).toEqual([argv, 0, '']);
      expect(out).toContain('Usage: ');
      expect(out).not.toContain('undefined');
      expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
    }
  });
});
