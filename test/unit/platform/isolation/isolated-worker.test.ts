import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createIsolatedWorker } from '../../../../src/platform/isolation/isolated-worker.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

/** A process whose second job needs more memory than the first one has left, and gives its first piece before. */
const PROGRAM = `
let resume = () => undefined;
const waste = [];
const keep = () => { for (let i = 0; i < 12; i += 1) waste.push(Buffer.alloc(10 * 1024 * 1024, 1)); };
process.on('message', (request) => {
  if (request.kind === 'continue') resume();
  if (request.kind !== 'job') return;
  const isReused = waste.length > 0;
  if (request.job === 'fill') {
    keep();
    process.send({ kind: 'done', result: 'filled' });
    return;
  }
  // The owner looks at the memory ten times a second.
  const rest = isReused ? () => { keep(); setInterval(() => undefined, 1000); } : () => undefined;
  process.send({ kind: 'piece', piece: { text: 'one', pid: process.pid } }, rest);
  if (!isReused) resume = () => {
    process.send({ kind: 'piece', piece: { text: 'two', pid: process.pid } });
    resume = () => process.send({ kind: 'done', result: 'ended' });
  };
});
process.on('disconnect', () => process.exit(0));
`;

interface Piece {
  readonly text: string;
  readonly pid: number;
}

describe('an isolated worker', () => {
  it('hands over a piece once that its owner is still storing when the process ends', async () => {
    const scratchDirectory = await temporaryDirectory();
    const program = join(scratchDirectory, 'program.mjs');
    await writeFile(program, PROGRAM);
    const worker = createIsolatedWorker<null, string, Piece, string>({
      program: pathToFileURL(program),
      setup: null,
      scratchDirectory,
      memoryBytes: 256 * 1024 * 1024,
      timeoutMs: 60_000,
      clock: systemClock,
      names: { work: 'work', timeoutSetting: 't', memorySetting: 'm' },
    });
    onTestFinished(() => {
      worker.close();
    });
    const never = new AbortController().signal;
    await worker.run('fill', () => undefined, never);
    let running = 0;
    const seen: string[] = [];
    let first: number | null = null;
    const outcome = await worker.run(
      'pieces',
      async ({ text, pid }) => {
        running += 1;
        seen.push(`${text} ${running}`);
        first ??= pid;
        if (first === pid) await until(() => !existsSync(`/proc/${pid}`));
        running -= 1;
      },
      never,
    );
    expect(outcome).toEqual({ kind: 'done', result: 'ended' });
    expect(seen).toEqual(['one 1', 'two 1']);
  });
});
