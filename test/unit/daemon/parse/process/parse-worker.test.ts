import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ParsedUnit } from '../../../../../src/daemon/parse/container/parsed-container.ts';
import { createParseWorker, type ParseWorker } from '../../../../../src/daemon/parse/process/parse-worker.ts';
import { systemClock, type Clock } from '../../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { until } from '../../../../support/until.ts';

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

const NEVER = new AbortController().signal;

async function worker(
  limits: { timeoutMs?: number; memoryBytes?: number; clock?: Clock } = {},
): Promise<ParseWorker> {
  const directory = await temporaryDirectory();
  const program = join(directory, 'program.mjs');
  await writeFile(program, PROGRAM);
  const created = createParseWorker({
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
    const ended = await worker({ timeoutMs: 2000 });
    const { format: directory } = await ended.parse(job('scratch'), ignore, NEVER);
    expect(existsSync(join(directory, 'copy'))).toBe(true);
    await ended.parse(job('hang'), ignore, NEVER);
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
