import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogOutput, type LogOutput } from '../../../../src/platform/logging/log-output.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MODULE = join(import.meta.dirname, '../../../../src/platform/logging/log-output.ts');

async function openOutput(maxWaitingBytes: number) {
  const file = join(await temporaryDirectory(), 'log');
  const fd = openSync(file, 'w');
  onTestFinished(() => {
    closeSync(fd);
  });
  const output = createLogOutput({ fd, maxWaitingBytes });
  onTestFinished(() => {
    process.removeListener('exit', output.flushSync);
  });
  return { file, output };
}

async function flush(output: LogOutput): Promise<void> {
  await new Promise<void>((resolve) => {
    output.flush(resolve);
  });
}

/** Runs a program that has `output` on its standard output. */
function startProgram(code: string) {
  const source = `
    import { createLogOutput } from ${JSON.stringify(MODULE)};
    const output = createLogOutput({ fd: 1, maxWaitingBytes: 8_000_000 });
    ${code}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

describe('createLogOutput', () => {
  it('writes every line in order, long ones too', async () => {
    const { file, output } = await openOutput(10_000_000);
    const lines = Array.from({ length: 2_000 }, (_, at) => `${at} ${'é'.repeat((at * 37) % 300)}\n`);
    lines.splice(1_000, 0, `long ${'x'.repeat(200_000)}\n`);
    for (const line of lines) output.write(line);
    await flush(output);
    expect(await readFile(file, 'utf8')).toBe(lines.join(''));
  });

  it('drops lines beyond its memory and says how many', async () => {
    const { file, output } = await openOutput(100);
    for (let at = 0; at < 50; at += 1) output.write(`line number ${at}\n`);
    await flush(output);
    output.write('after\n');
    await flush(output);
    const written = (await readFile(file, 'utf8')).trimEnd().split('\n');
    const note = written.find((line) => line.includes('log lines were dropped'));
    const kept = written.filter((line) => line.startsWith('line number'));
    expect(kept.length).toBeGreaterThan(0);
    expect(JSON.parse(note ?? '{}')).toMatchObject({ level: 'warn', dropped: 50 - kept.length });
    expect(written.at(-1)).toBe('after');
  });

  it('loses nothing when the process exits immediately', async () => {
    const child = startProgram(
      `for (let i = 0; i < 500; i += 1) output.write('line ' + i + '\\n'); process.exit(3);`,
    );
    const [written, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(code).toBe(3);
    expect(written.trimEnd().split('\n').sort()).toEqual(
      Array.from({ length: 500 }, (_, at) => `line ${at}`).sort(),
    );
  });

  it('keeps lines of several processes on one pipe in one piece', async () => {
    const program = `
      import { createLogOutput } from ${JSON.stringify(MODULE)};
      const output = createLogOutput({ fd: 1, maxWaitingBytes: 80_000_000, maxWriteBytes: 4096 });
      for (let i = 0; i < 5_000; i += 1) output.write(process.argv[1].repeat(100 + (i % 400)) + '\\n');
      output.flush(() => process.exit(0));`;
    const run = (letter: string): string => `"$NODE" --input-type=module --eval "$PROGRAM" ${letter} &`;
    const child = spawn(
      'sh',
      ['-c', `{ ${run('a')} ${run('b')} ${run('c')} wait; } | dd bs=1000 status=none`],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { NODE: process.execPath, PROGRAM: program },
      },
    );
    const lines = (await text(child.stdout)).trimEnd().split('\n');
    expect(lines).toHaveLength(15_000);
    expect(lines.filter((line) => !/^(?:a+|b+|c+)$/.test(line))).toEqual([]);
  });

  it('lets a process exit whose reader has closed', async () => {
    const child = startProgram(`
      setInterval(() => output.write('x'.repeat(100_000) + '\\n'), 1);
      setTimeout(() => { output.write('last\\n'); process.exit(3); }, 100);`);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect([code, signal]).toEqual([3, null]);
  });
});
