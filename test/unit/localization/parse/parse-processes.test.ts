import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PARSE_ERROR_CODES } from '../../../../src/contract/reports/parse-error-codes.ts';
import type { ParsedUnit } from '../../../../src/localization/parse/container/parsed-container.ts';
import {
  createContainerParser,
  type ContainerParser,
} from '../../../../src/localization/parse/process/container-parser.ts';
import {
  packUnits,
  unpackUnits,
  type UnitBatch,
} from '../../../../src/localization/parse/process/unit-batch.ts';
import { systemClock, type Clock } from '../../../../src/platform/process/clock.ts';
import { HOSTILE_RULES, hostileContainers } from '../../../support/hostile-containers.ts';
import { campaignSize } from '../../../support/long.ts';
import { mutations } from '../../../support/mutate.ts';
import { loadedRules } from '../../../support/parse-bytes.ts';
import { childrenOf } from '../../../support/process-figures.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const NEVER = new AbortController().signal;

/** A process that does what the path of the container says. */
const PROGRAM = `
let resume = () => undefined;
const outcome = (format) => process.send({ kind: 'done', result: { status: 'parsed', format, issues: [], skipped: {} } });
const batch = (text) => ({
  leaves: [{ archiveEntry: null, pathId: null, classId: null, format: 'text', units: 1 }],
  fieldPaths: ['path'], keyPaths: ['key'], sourceTexts: [text], speakers: [null], scenes: [null],
  digests: Buffer.alloc(48),
});
const waste = [];
const { mkdirSync, writeFileSync } = process.getBuiltinModule('node:fs');
process.on('message', (request) => {
  if (request.kind === 'continue') resume();
  if (request.kind !== 'job') return;
  const { path } = request.job;
  if (path === 'good') outcome(String(process.pid));
  if (path === 'scratch') {
    const { scratchDirectory } = request;
    mkdirSync(scratchDirectory);
    writeFileSync(scratchDirectory + '/copy', 'x');
    outcome(scratchDirectory);
  }
  if (path === 'die') { outcome(String(process.pid)); setImmediate(() => process.exit(3)); }
  if (path === 'environment') outcome(JSON.stringify(process.env));
  const keep = (mebibytes) => { for (let i = 0; i < mebibytes; i += 10) waste.push(Buffer.alloc(10 * 1024 * 1024, 1)); };
  if (path === 'leaves 120') { keep(120); outcome(String(process.pid)); }
  if (path === 'needs 120') {
    process.send({ kind: 'piece', piece: batch('one') });
    resume = () => {
      const isReused = waste.length > 0;
      keep(120);
      // The owner looks at the memory ten times a second.
      if (isReused) setInterval(() => undefined, 1000);
      else { process.send({ kind: 'piece', piece: batch('two') }); resume = () => outcome(String(process.pid)); }
    };
  }
  if (path === 'flags') outcome(process.execArgv.join(' '));
  if (path === 'crash') throw new TypeError('no such thing');
  if (path === 'kill') process.kill(process.pid, 'SIGSEGV');
  if (path === 'hang') for (;;);
  if (path === 'waste') for (;;) waste.push(Buffer.alloc(16 * 1024 * 1024, 1));
  if (path === 'units') {
    process.send({ kind: 'piece', piece: batch('one') });
    resume = () => { process.send({ kind: 'piece', piece: batch('two') }); resume = () => outcome('units'); };
  }
  if (path === 'ahead') {
    process.send({ kind: 'piece', piece: batch('one') });
    process.send({ kind: 'piece', piece: batch('two') });
    outcome('ahead');
  }
});
process.on('disconnect', () => process.exit(0));
`;

async function worker(
  limits: { timeoutMs?: number; memoryBytes?: number; clock?: Clock } = {},
): Promise<ContainerParser> {
  const directory = await temporaryDirectory();
  const program = join(directory, 'program.mjs');
  await writeFile(program, PROGRAM);
  const created = createContainerParser({
    processes: 1,
    rules: {
      configuration: { rules: [], sourceScript: 'any', stableNames: [] },
      secrets: new Map(),
      files: new Map(),
    },
    scratchDirectory: directory,
    memoryBytes: 1024 * 1024 * 1024,
    timeoutMs: 60_000,
    clock: systemClock,
    program: pathToFileURL(program),
    ...limits,
  });
  onTestFinished(() => {
    created.close();
  });
  return created;
}

const job = (path: string) => ({
  path,
  destination: path,
  destinationKey: path,
});
const ignore = (): void => undefined;
const textsOf = (units: readonly ParsedUnit[]): string[] => units.map(({ sourceText }) => sourceText);

describe('a worker that parses', () => {
  it.each([
    ['crash', 'process_failed', 'ended with exit code 1: TypeError: no such thing'],
    ['kill', 'process_failed', 'ended by SIGSEGV'],
  ])('survives a process that ends by %s', async (path, code, how) => {
    const parser = await worker();
    const failed = await parser.parse(job(path), ignore, NEVER);
    expect(failed.status).toBe('failed');
    expect(failed.issues.map((issue) => issue.code)).toEqual([code]);
    expect(failed.issues[0]?.message).toContain(how);
    expect((await parser.parse(job('good'), ignore, NEVER)).status).toBe('parsed');
  });

  it('ends a process that exceeds its time', async () => {
    const parser = await worker({ timeoutMs: 300 });
    const failed = await parser.parse(job('hang'), ignore, NEVER);
    expect(failed.issues.map(({ code }) => code)).toEqual(['deadline_exceeded']);
  });

  it('ends a process that exceeds its memory', async () => {
    const parser = await worker({ memoryBytes: 256 * 1024 * 1024 });
    const failed = await parser.parse(job('waste'), ignore, NEVER);
    expect(failed.issues.map(({ code }) => code)).toEqual(['memory_exceeded']);
  });

  it('parses a container again in a new process when earlier containers took the memory', async () => {
    const parser = await worker({ memoryBytes: 256 * 1024 * 1024 });
    const { format: first } = await parser.parse(job('leaves 120'), ignore, NEVER);
    const seen: string[] = [];
    const second = await parser.parse(job('needs 120'), (units) => void seen.push(...textsOf(units)), NEVER);
    expect(second).toMatchObject({ status: 'parsed', issues: [] });
    expect(second.format).not.toBe(first);
    expect(seen).toEqual(['one', 'two']);
  });

  it('does not count a process that ended between two containers as a failure of the next one', async () => {
    const parser = await worker();
    const { format: pid } = await parser.parse(job('die'), ignore, NEVER);
    await until(() => !existsSync(`/proc/${pid}`));
    expect(await parser.parse(job('good'), ignore, NEVER)).toMatchObject({ status: 'parsed', issues: [] });
  });

  it('passes no secret of the environment on', async () => {
    vi.stubEnv('SLIPWAY_TOKEN', 'secret');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const { format } = await (await worker()).parse(job('environment'), ignore, NEVER);
    const names = Object.keys(JSON.parse(format) as object);
    expect(names).toContain('PATH');
    expect(names).not.toContain('SLIPWAY_TOKEN');
  });

  it('removes the temporary files of a process that it ended', async () => {
    const ended = await worker();
    const cancel = new AbortController();
    const { format: directory } = await ended.parse(job('scratch'), ignore, NEVER);
    expect(existsSync(join(directory, 'copy'))).toBe(true);
    const hangs = ended.parse(job('hang'), ignore, cancel.signal);
    cancel.abort(new Error('ended'));
    await expect(hangs).rejects.toThrow('ended');
    await until(() => !existsSync(directory));
  });

  it('has its own memory settings, because those of the daemon are for programs that wait', async () => {
    const parser = await worker({ memoryBytes: 512 * 1024 * 1024 });
    const { format } = await parser.parse(job('flags'), ignore, NEVER);
    expect(format).toBe('--max-old-space-size=512 --max-semi-space-size=16');
  });

  it('uses one process for many containers', async () => {
    const parser = await worker();
    const first = await parser.parse(job('good'), ignore, NEVER);
    const second = await parser.parse(job('good'), ignore, NEVER);
    expect(second.format).toBe(first.format);
  });

  it('gets the next units when the last ones are stored', async () => {
    const parser = await worker();
    const seen: string[] = [];
    const outcome = await parser.parse(job('units'), (units) => void seen.push(...textsOf(units)), NEVER);
    expect(seen).toEqual(['one', 'two']);
    expect(outcome.format).toBe('units');
  });

  it('does not count the time that the store takes', async () => {
    let [now, looks] = [0, 0];
    const looked = Promise.withResolvers<void>();
    const clock: Clock = {
      ...systemClock,
      monotonic: () => now,
      sleep: async (ms, signal) => {
        await systemClock.sleep(Math.min(ms, 1), signal);
        if (now > 0) looks += 1;
        if (looks > 2) looked.resolve();
      },
    };
    const slow = await worker({ timeoutMs: 60_000, clock });
    const store = async (): Promise<void> => {
      now += 100_000;
      // The time is looked at meanwhile; a container that failed ends the wait, too.
      await Promise.race([looked.promise, parsing]);
    };
    const parsing = slow.parse(job('units'), store, NEVER);
    expect((await parsing).status).toBe('parsed');
  });

  it('stores all units one after the other before the outcome, also when the process runs ahead', async () => {
    const parser = await worker();
    const seen: string[] = [];
    const store = async (units: readonly ParsedUnit[]): Promise<void> => {
      seen.push(`begin ${textsOf(units).join()}`);
      await setImmediate();
      seen.push(`end ${textsOf(units).join()}`);
    };
    expect((await parser.parse(job('ahead'), store, NEVER)).format).toBe('ahead');
    expect(seen).toEqual(['begin one', 'end one', 'begin two', 'end two']);
  });

  it('stores nothing after an error of the store', async () => {
    const parser = await worker();
    let calls = 0;
    const store = (): never => {
      calls += 1;
      throw new Error('disk full');
    };
    await expect(parser.parse(job('ahead'), store, NEVER)).rejects.toThrow('disk full');
    expect((await parser.parse(job('good'), ignore, NEVER)).status).toBe('parsed');
    expect(calls).toBe(1);
  });

  it('passes on the error of the store, and uses another process after it', async () => {
    const parser = await worker();
    const store = (): never => {
      throw new Error('disk full');
    };
    await expect(parser.parse(job('units'), store, NEVER)).rejects.toThrow('disk full');
    expect((await parser.parse(job('good'), ignore, NEVER)).status).toBe('parsed');
  });

  it('ends the process of a cancelled container', async () => {
    const parser = await worker();
    const cancelling = new AbortController();
    const parsing = parser.parse(
      job('units'),
      () => cancelling.abort(new Error('cancelled')),
      cancelling.signal,
    );
    await expect(parsing).rejects.toThrow('cancelled');
    expect((await parser.parse(job('good'), ignore, NEVER)).status).toBe('parsed');
  });
});

const SEED = Number(process.env['FUZZ_SEED'] ?? '14');
const MUTATIONS = campaignSize(400, 40_000);
const MEMORY_BYTES = 384 * 1024 * 1024;
/** Far above what any of these small containers needs, even on a busy machine. */
const DEADLINE_MS = 20_000;

/** The processes that this one started, and the most resident memory that each had, in bytes. */
async function childProcesses(): Promise<ReadonlyMap<number, number>> {
  const children = await childrenOf('self');
  const peaks = children.map(async (pid): Promise<Array<[number, number]>> => {
    // A process that has just ended has no memory, and soon no file.
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const kilobytes = /VmHWM:\s+(\d+) kB/.exec(status)?.[1];
    return kilobytes === undefined ? [] : [[pid, Number(kilobytes) * 1024]];
  });
  return new Map((await Promise.all(peaks)).flat());
}

describe('hostile containers', () => {
  it('a damaged container is parsed, partial, unsupported or failed, and its process stays within its bounds', async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'container');
    const containers = await hostileContainers(directory);
    const worker = createContainerParser({
      processes: 1,
      rules: loadedRules(HOSTILE_RULES),
      scratchDirectory: directory,
      memoryBytes: MEMORY_BYTES,
      timeoutMs: DEADLINE_MS,
      clock: systemClock,
    });
    onTestFinished(() => {
      worker.close();
    });
    const counts = new Map<string, number>();
    let ours: ReadonlyMap<number, number> | null = null;
    for (const [number, { destination, bytes, wrap }] of containers.entries()) {
      const count = Math.ceil(MUTATIONS / containers.length);
      let isDamaged = false;
      for (const part of [bytes, ...mutations(bytes, { seed: SEED + number, count })]) {
        const content = await wrap(part);
        await writeFile(path, content);
        let units = 0;
        const onUnits = (batch: readonly ParsedUnit[]): void => void (units += batch.length);
        const job = { path, destination, destinationKey: destination };
        const outcome = await worker.parse(job, onUnits, NEVER);
        const codes = outcome.issues.map(({ code }) => code);
        const what = `${destination} ${content.toString('base64')}`;
        expect(['parsed', 'partial', 'unsupported', 'failed'], what).toContain(outcome.status);
        for (const code of codes) {
          expect(Object.keys(PARSE_ERROR_CODES), what).toContain(code);
          expect(
            ['process_failed', 'deadline_exceeded', 'file_unreadable'],
            `${outcome.issues[0]?.message} ${what}`,
          ).not.toContain(code);
        }
        if (outcome.status === 'failed') expect(codes, what).not.toEqual([]);
        if (!isDamaged) {
          expect(units, destination).toBeGreaterThan(0);
          isDamaged = true;
          ours ??= await childProcesses();
        }
        counts.set(outcome.status, (counts.get(outcome.status) ?? 0) + 1);
        for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
      }
    }
    // One process has parsed all of them: none has begun since. One of another test may have ended.
    const children = await childProcesses();
    expect(children.size).toBeGreaterThan(0);
    expect([...(ours?.keys() ?? [])]).toEqual(expect.arrayContaining([...children.keys()]));
    expect(Math.max(...children.values())).toBeLessThan(MEMORY_BYTES);
    expect(counts.get('memory_exceeded')).toBe(undefined);
    // Each kind of outcome occurs often, or the mutations would prove nothing.
    for (const status of ['parsed', 'partial', 'failed']) {
      expect(counts.get(status), status).toBeGreaterThan(MUTATIONS / 20);
    }
  });
});

const unit = (number: number, part: Partial<ParsedUnit> = {}): ParsedUnit => ({
  archiveEntry: null,
  pathId: null,
  classId: null,
  format: 'json',
  fieldPath: `/${number}/Text`,
  keyPath: `[Id=${number}]/Text`,
  unitId: new Uint8Array(16).fill(number),
  sourceDigest: new Uint8Array(32).fill(number + 100),
  sourceText: `第${number}話`,
  speaker: number % 2 === 0 ? null : 'ホシノ',
  scene: number % 3 === 0 ? null : '教室',
  ...part,
});

/** The units that arrive in the other process. */
const send = (units: readonly ParsedUnit[]): ParsedUnit[] =>
  unpackUnits(deserialize(serialize(packUnits(units))) as UnitBatch).map((each) => ({
    ...each,
    unitId: new Uint8Array(each.unitId),
    sourceDigest: new Uint8Array(each.sourceDigest),
  }));

describe('a batch of units', () => {
  it('arrives as it was sent, in order, with the part of each unit', () => {
    const units = [
      unit(1),
      unit(2),
      unit(3, { archiveEntry: 'a.json' }),
      unit(4, { archiveEntry: 'b', pathId: 2n ** 63n - 1n, classId: 114, format: 'unity' }),
      unit(5, { archiveEntry: 'b', pathId: -(2n ** 63n), classId: 114, format: 'unity' }),
      unit(6),
    ];
    expect(send(units)).toEqual(units);
  });

  it('names the part of a container once for all of its units', () => {
    expect(packUnits([unit(1), unit(2), unit(3, { archiveEntry: 'a.json' })]).leaves).toEqual([
      { archiveEntry: null, pathId: null, classId: null, format: 'json', units: 2 },
      { archiveEntry: 'a.json', pathId: null, classId: null, format: 'json', units: 1 },
    ]);
  });

  it('can be empty', () => {
    expect(send([])).toEqual([]);
  });
});
