import { existsSync, mkdirSync, truncateSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ctl } from '../support/ctl.ts';
import { campaignPart } from '../support/long.ts';
import { childrenOf, processorSeconds } from '../support/process-figures.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TaskBody, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { canMount, fill, mountTmpfs } from '../support/tmpfs.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';
import { writeZip } from '../support/write-zip.ts';

const TOKEN = 'hostile-token-4711';
const ELEMENTS = 1_000_000;

/** An archive that is small and takes minutes to parse: each of its entries is an array of a million numbers. */
function slowArchive(entries: number): Buffer {
  const numbers = Array.from({ length: ELEMENTS }, (_, index) => (index % 97 === 0 ? index % 10 : 1));
  const content = Buffer.from(JSON.stringify(numbers));
  const data = deflateRawSync(content);
  return writeZip(Array.from({ length: entries }, (_, entry) => ({ name: `${entry}.json`, content, data })));
}

/** A file that is small and needs hundreds of mebibytes: a million texts. */
const LARGE = Buffer.from(`[${'"あ",'.repeat(ELEMENTS - 1)}"あ"]`);
const GOOD = Buffer.from('["おはよう"]');

async function world(
  files: ReadonlyMap<string, Buffer>,
  parse: object,
  prepare: (system: TestSystem) => void = () => undefined,
): Promise<{ system: TestSystem; url: string[] }> {
  const tokenFile = await writeTokenFile(TOKEN);
  const upstream = join(await temporaryDirectory(), 'upstream');
  await writeReleaseTree(upstream, { id: 'r1', files });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream }, maxAttempts: 1 },
    daemon: { parse: { automatic: false, ...parse } },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
    startNothing: true,
  });
  prepare(system);
  await Promise.all([system.startDaemon(), system.startServer()]);
  await system.untilReady(true);
  return { system, url: ['--url', system.serverUrl, '--token-file', tokenFile] };
}

async function act(system: TestSystem, action: string, body: object): Promise<void> {
  const response = await system.askDaemon(`/v1/control/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${action}: ${response.status} ${await response.text()}`);
}

/** Starts a run, and returns the id of its task. */
async function startParse(system: TestSystem): Promise<string> {
  const tasks = async (): Promise<string[]> =>
    (await report(system, 'task.list')).items
      .filter(({ kind }) => kind === 'parse')
      .map((task) => String(task['task_id']));
  const before = new Set(await tasks());
  await act(system, 'schedule-add', { group: 'parse', action: 'parse', max_runs: 1, delay_seconds: 0 });
  return await until(async () => (await tasks()).find((id) => !before.has(id)));
}

async function untilOver(system: TestSystem, taskId: string): Promise<TaskBody> {
  return await until(async () => {
    const task = await taskOf(system, taskId);
    return isOver(task) ? task : null;
  });
}

async function taskOf(system: TestSystem, taskId: string): Promise<TaskBody> {
  const response = await system.askDaemon(`/v1/reports/task.status?task_id=${taskId}`);
  return ((await response.json()) as { task: TaskBody }).task;
}

const isOver = ({ status }: TaskBody): boolean => ['succeeded', 'failed', 'cancelled'].includes(status);

async function expectServed(system: TestSystem): Promise<void> {
  const [file, alive, ready] = await Promise.all(
    [system.cdn('good.json'), `${system.serverUrl}/healthz`, `${system.serverUrl}/readyz`].map(
      async (url) => await fetch(url),
    ),
  );
  expect([file?.status, alive?.status, ready?.status]).toEqual([200, 200, 200]);
  expect(await file?.text()).toBe(GOOD.toString());
}

async function report(
  system: TestSystem,
  name: string,
): Promise<Record<string, unknown> & { items: Record<string, unknown>[] }> {
  return (await (await system.askDaemon(`/v1/reports/${name}`)).json()) as never;
}

describe('a hostile container', () => {
  // Each limit is proved with its process in `test/unit/localization/parse/parse-processes.test.ts`.
  const hostile = [
    {
      what: 'too much memory',
      destination: 'large.json',
      content: LARGE,
      limits: { timeoutSeconds: 3600, memoryMebibytes: 256 },
      code: 'memory_exceeded',
    },
    {
      what: 'too long',
      destination: 'slow.zip',
      content: slowArchive(1000),
      // A busy machine parses the other files in this time, although parsing gives way.
      limits: { timeoutSeconds: 15 },
      code: 'deadline_exceeded',
    },
  ];
  it.each(campaignPart(hostile, 2))(
    'costs only itself when it takes $what',
    async ({ destination, content, limits, code }) => {
      const files = new Map([
        ['good.json', GOOD],
        [destination, content],
        ['z.json', GOOD],
      ]);
      const { system } = await world(files, limits);
      const taskId = await startParse(system);
      let looks = 0;
      const task = await until(async () => {
        await expectServed(system);
        looks += 1;
        const found = await taskOf(system, taskId);
        return isOver(found) ? found : null;
      });
      expect(looks).toBeGreaterThan(3);
      expect(task).toMatchObject({ status: 'succeeded', result: { containers: 3, units: 2 } });
      const status = await report(system, 'parse.status');
      expect({ ...(status['by_parse_status'] as object), ...(status['errors_by_code'] as object) }).toEqual({
        parsed: 2,
        failed: 1,
        [code]: 1,
      });
      expect((await report(system, 'parse.errors')).items).toMatchObject([{ destination, code }]);
      const lines = (): string[] =>
        system.daemon.lines.filter((line) => line.includes(`"destination":"${destination}"`));
      await until(() => lines().length > 0);
      expect(lines()).toEqual([expect.stringMatching(/"level":"warn".*"parse_status":"failed"/)]);
      // Its process is gone, and no other one is left.
      await until(async () => (await childrenOf(system.daemon.pid)).length === 0);
    },
  );

  it('ends with its process when its run is cancelled, and when the daemon is killed', async () => {
    const files = new Map([
      ['good.json', GOOD],
      ['slow.zip', slowArchive(1000)],
    ]);
    const { system } = await world(files, { timeoutSeconds: 3600, processes: 2 });
    /** Waits until a process has worked for longer than its start takes, and returns the processes. */
    const busy = async (): Promise<readonly number[]> =>
      await until(async () => {
        const children = await childrenOf(system.daemon.pid);
        const times = await Promise.all(children.map(processorSeconds));
        return times.some((seconds) => seconds > 1) ? children : null;
      });

    const cancelled = await startParse(system);
    const first = await busy();
    await act(system, 'task-cancel', { task_id: cancelled });
    expect((await untilOver(system, cancelled)).status).toBe('cancelled');
    await until(() => first.every((pid) => !existsSync(`/proc/${pid}`)));
    await expectServed(system);

    await startParse(system);
    const second = await busy();
    await system.daemon.kill();
    await until(() => second.every((pid) => !existsSync(`/proc/${pid}`)));
    await expectServed(system);
  });
});

describe.runIf(canMount())('a full data folder', () => {
  it('fails the run with data_full, and the next run succeeds when there is space', async () => {
    const rows = Array.from({ length: 30_000 }, (_, line) => `${line}行目のテキスト`);
    const files = new Map([
      ['good.json', GOOD],
      ['table.json', Buffer.from(JSON.stringify(rows))],
    ]);
    let filler = '';
    const { system, url } = await world(files, {}, ({ directory }) => {
      const data = join(directory, 'data');
      mkdirSync(data);
      mountTmpfs(data, '64m');
      filler = join(data, 'filler');
    });
    fill(join(system.directory, 'data'));
    // Enough for the daemon, and not for the index too.
    truncateSync(filler, statSync(filler).size - 10 * 1024 * 1024);
    const task = await untilOver(system, await startParse(system));
    expect(task).toMatchObject({ status: 'failed', failure_code: 'data_full' });
    expect(task.failure_reason).toContain('free space on the volume of data.dir');
    await expectServed(system);

    unlinkSync(filler);
    const run = await ctl(['parse', '--output', 'json', ...url]);
    expect(run.out).toContain('"units":30001');
    expect(run.code).toBe(0);
    expect(await report(system, 'parse.status')).toMatchObject({ units: 30_001, errors: 0 });
  });
});
