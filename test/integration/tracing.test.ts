import { describe, expect, it } from 'vitest';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const TOKEN = 'canary-tracing-token-7';
const RELEASE = 'r90_one';
const FILE = 'TableBundles/Excel.zip';

type Line = Readonly<Record<string, unknown>>;

const traceOf = (digit: string): { readonly id: string; readonly parent: string } => {
  const id = digit.repeat(32);
  return { id, parent: `00-${id}-00f067aa0ba902b7-01` };
};

/** Each test leaves it as it is. */
const running = reusedFixture(async (atEnd): Promise<TestSystem> => {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: RELEASE, files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    server: {
      admin: { tokenFiles: [await writeTokenFile(TOKEN, atEnd)], exposeControl: true },
      log: { level: 'debug' },
    },
    atEnd,
  });
  await system.untilReady(true);
  return system;
});

const linesOf = (process: { readonly lines: readonly string[] }, traceId: string): Line[] =>
  process.lines
    .filter((line) => line.includes(traceId))
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line['trace_id'] === traceId);

describe('a trace of a caller', () => {
  it('is in the lines of the server, of the daemon and of the task that it began, and in no other', async () => {
    const system = await running();
    const { id, parent } = traceOf('a');
    const answer = await fetch(`${system.serverUrl}/admin/control/verify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, traceparent: parent, tracestate: 'vendor=1' },
    });
    const { task_id } = (await answer.json()) as { readonly task_id: string };
    await until(() => linesOf(system.daemon, id).some(({ msg }) => /succeeded/.test(String(msg))));
    await until(() => linesOf(system.server, id).some(({ msg }) => msg === 'request'));
    const server = linesOf(system.server, id);
    expect(new Set(server.map(({ msg }) => msg))).toEqual(new Set(['control call', 'request']));
    const daemon = linesOf(system.daemon, id);
    expect(daemon.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['action accepted', 'verify started', expect.stringContaining('succeeded')]),
    );
    expect(daemon.filter((line) => (line['task_id'] ?? task_id) !== task_id)).toEqual([]);
    // Each process has a span of its own.
    const spans = new Set([...server, ...daemon].map((line) => line['span_id']));
    expect(spans.size).toBe(2);
    expect(spans).not.toContain('00f067aa0ba902b7');
    // The next task has no trace.
    const other = await system.run('verify');
    const lines = (): Line[] =>
      system.daemon.lines
        .filter((line) => line.includes(other.task_id))
        .map((line) => JSON.parse(line) as Line);
    await until(() => lines().some(({ msg }) => /succeeded/.test(String(msg))));
    expect(lines().length).toBeGreaterThan(1);
    expect(lines().filter((line) => line['trace_id'] !== undefined)).toEqual([]);
  });

  it('is in the line of every route, on the fast path too', async () => {
    const system = await running();
    const paths = [
      `/${CDN_HOST}/${RELEASE}/${FILE}`,
      `/${CDN_HOST}/${RELEASE}/${FILE}?x=1`,
      `/${CDN_HOST}/none`,
      '/healthz',
      '/v1/releases',
      '/admin/tasks',
      '/admin/dashboard/',
      '/none',
    ];
    for (const [at, path] of paths.entries()) {
      const { id, parent } = traceOf('123456789'.charAt(at));
      await (await fetch(system.serverUrl + path, { headers: { traceparent: parent } })).arrayBuffer();
      await until(() => linesOf(system.server, id).some(({ msg }) => msg === 'request'));
    }
  });
});

it('a daemon that is not there is logged with its reason once', async () => {
  const system = await running();
  await system.daemon.kill();
  const lines = (): Line[] =>
    system.server.lines
      .filter((line) => line.includes('"refresh"'))
      .map((line) => JSON.parse(line) as Line)
      .filter(({ outcome }) => outcome === 'failed');
  await until(() => lines().some(({ detail }) => /ECONNREFUSED/.test(String(detail))));
  const line = lines().find(({ detail }) => /ECONNREFUSED/.test(String(detail))) ?? {};
  expect(line['code']).toBe('unreachable');
  expect(JSON.stringify(line).match(/ECONNREFUSED/g)).toHaveLength(1);
  await system.startDaemon();
});
