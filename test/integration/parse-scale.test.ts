import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { parseEnvelope, parseStatement } from '../../src/contract/formats/attestation-format.ts';
import { parseJsonExact } from '../../src/contract/json/json-exact.ts';
import { processFamily } from '../bench/processor-time.ts';
import { ctl } from '../support/ctl.ts';
import { campaignSize } from '../support/long.ts';
import { processFigures } from '../support/process-figures.ts';
import { startSystem, type TaskBody, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTextRelease } from '../support/text-release.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const SIZE = { containers: campaignSize(240, 800), units: campaignSize(30_000, 100_000) };
const PARSER_MIB = 256;
const PAGE = 1000;
/** Between two samples. */
const SAMPLE_MS = 50;

interface ListedTask extends TaskBody {
  readonly kind: string;
  readonly progress: { readonly done: number } | null;
}

async function report(system: TestSystem, path: string): Promise<Record<string, unknown>> {
  const response = await system.askDaemon(`/v1/reports/${path}`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return parseJsonExact(text) as Record<string, unknown>;
}

/** Asks for the attestation until it is stopped; each answer must be one that is valid for a while. */
function watchAttestation(system: TestSystem): { stop(): Promise<number> } {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  let answers = 0;
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const response = await system.askDaemon('/v1/attestation');
      expect(response.status).toBe(200);
      const envelope = parseEnvelope(await response.bytes());
      if (!envelope.ok) throw new Error(envelope.error);
      const statement = parseStatement(Buffer.from(envelope.value.payload, 'base64'));
      if (!statement.ok) throw new Error(statement.error);
      expect(statement.value.expires_at * 1000).toBeGreaterThan(Date.now());
      answers += 1;
      await delay(SAMPLE_MS);
    }
  })();
  // The test awaits it at its end.
  watching.catch(() => undefined);
  return {
    stop: async () => {
      stopping.abort();
      await watching;
      return answers;
    },
  };
}

/** The parse task, once it has finished this many containers. */
async function parsing(system: TestSystem, containers: number): Promise<ListedTask> {
  return await until(async () => {
    const { items } = (await report(system, 'task.list')) as { items: ListedTask[] };
    const task = items.find(({ kind }) => kind === 'parse');
    return (task?.progress?.done ?? 0) >= containers ? (task ?? null) : null;
  });
}

/** The largest resident memory of the daemon, and of a process that parses, while the test runs. */
function watchMemory(pid: number): { largest(): Promise<{ daemon: number; parser: number }> } {
  let [daemon, parser] = [0, 0];
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      for (const member of processFamily(pid)) {
        const bytes = (await processFigures(member).catch(() => null))?.residentBytes ?? 0;
        if (member === pid) daemon = Math.max(daemon, bytes);
        else parser = Math.max(parser, bytes);
      }
      await delay(SAMPLE_MS);
    }
  })();
  return {
    largest: async () => {
      stopping.abort();
      await watching;
      return { daemon, parser };
    },
  };
}

it(
  'a release of many text units is indexed in bounded memory, through a cancel, and the daemon answers meanwhile',
  { timeout: 600_000 },
  async () => {
    const upstream = join(await temporaryDirectory(), 'upstream');
    const counts = await writeTextRelease(upstream, SIZE);
    const tokenFile = await writeTokenFile('scale-token-4711');
    const system = await startSystem({
      upstream: { kind: 'directory', directory: { path: upstream } },
      // Renewed about every three seconds.
      daemon: { parse: { memoryMebibytes: PARSER_MIB }, attestation: { ttlSeconds: 10 } },
      server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
      measuresMemory: true,
    });
    const memory = watchMemory(system.daemon.pid);
    await system.untilReady(true);

    const running = await parsing(system, 20);
    const attestation = watchAttestation(system);
    await system.succeed('verify');
    // That it can be cancelled shows that the run was in progress all the time.
    await system.control('task-cancel', { task_id: running.task_id });
    await until(async () => {
      const { task } = (await report(system, `task.status?task_id=${running.task_id}`)) as { task: TaskBody };
      expect(task.status).not.toBe('succeeded');
      return task.status === 'cancelled';
    });

    const run = await ctl([
      'parse',
      '--output',
      'json',
      '--url',
      system.serverUrl,
      '--token-file',
      tokenFile,
    ]);
    expect(run.code).toBe(0);
    expect(await attestation.stop()).toBeGreaterThan(0);
    const parsed = Number(/"parsed":(\d+)/.exec(run.out)?.[1]);
    expect(parsed).toBeLessThan(SIZE.containers);
    expect(parsed).toBeGreaterThan(0);
    expect(await report(system, 'parse.status')).toMatchObject({
      containers: counts.containers,
      units: counts.units,
      errors: 0,
      by_parse_status: { parsed: counts.containers },
      by_format: counts.byFormat,
      skipped: { no_source_script: counts.noSourceScript },
    });

    const numbers = new Set<string>();
    for (let offset = 0; offset < SIZE.units; offset += PAGE) {
      const page = await report(system, `parse.text_units?offset=${offset}&limit=${PAGE}`);
      expect(page['total']).toBe(counts.units);
      for (const { source_text } of page['items'] as { source_text: string }[]) {
        numbers.add(/第(\d+)話$/.exec(source_text)?.[1] ?? source_text);
      }
    }
    expect(numbers.size).toBe(counts.units);
    const end = await report(system, `parse.text_units?offset=${counts.units - 5}&limit=${PAGE}`);
    expect(end['items']).toHaveLength(5);

    const { daemon, parser } = await memory.largest();
    expect(daemon).toBeLessThan(300 * MIB);
    expect(parser).toBeGreaterThan(0);
    expect(parser).toBeLessThan(PARSER_MIB * MIB);
  },
);
