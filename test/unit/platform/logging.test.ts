import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  errorFields,
  createLogger,
  createSilentLogger,
  type LogLevel,
} from '../../../src/platform/logging/logging.ts';
import { createLogOutput, type LogOutput } from '../../../src/platform/logging/log-output.ts';
import { createSecretMask, maskStrings } from '../../../src/platform/logging/secret-mask.ts';
import {
  currentTrace,
  receiveTrace,
  traceFields,
  traceHeaders,
  withTrace,
} from '../../../src/platform/logging/trace.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

function capture(level: LogLevel = 'info') {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  return { lines, logger: createLogger({ name: 'daemon', version: '1.2.3', level, destination }) };
}

describe('createLogger', () => {
  it('writes one JSON object per line with level, time, service and version', () => {
    const { lines, logger } = capture();
    logger.child({ part: 'sync' }).warn({ count: 3 }, 'slow');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      service: 'daemon',
      version: '1.2.3',
      part: 'sync',
      count: 3,
      msg: 'slow',
    });
  });

  it('cannot be made to write a second line or an escape sequence', () => {
    const { lines, logger } = capture();
    logger.info({ path: 'a\r\n{"level":"fatal"}' }, 'evil\n\u001b[2J\u2028');
    expect(lines).toHaveLength(1);
    const [line = ''] = lines;
    expect(['\r', '\n', '\u001b'].filter((character) => line.trimEnd().includes(character))).toEqual([]);
  });

  it('hides credentials of objects that are logged whole', () => {
    const { lines, logger } = capture();
    logger.info({
      headers: { authorization: 'Bearer canary', host: 'h' },
      token: 'canary',
      svc_token: 'canary',
    });
    expect(lines.join('')).not.toContain('canary');
    expect(lines.join('')).toContain('"host":"h"');
  });

  it.each(['err', 'error'])('keeps the stack and the cause of an error under "%s"', (name) => {
    const { lines, logger } = capture();
    logger.error({ [name]: new Error('outer', { cause: new Error('inner') }) }, 'failed');
    expect(lines.join('')).toContain('outer');
    expect(lines.join('')).toContain('inner');
    expect(lines.join('')).toContain('logging.test.ts');
  });

  it('writes nothing below its level', () => {
    const { lines, logger } = capture('error');
    logger.info('quiet');
    logger.error('loud');
    expect(lines).toHaveLength(1);
    expect(createSilentLogger().isLevelEnabled('fatal')).toBe(false);
  });
});

const MODULE = join(import.meta.dirname, '../../../src/platform/logging/log-output.ts');

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

describe('the fields of an error', () => {
  it('shows the text of a cause once', () => {
    const root = new Error('connect ECONNREFUSED 127.0.0.1:1');
    const middle = new Error(root.message, { cause: root });
    const outer = new Error(`the daemon cannot be reached: ${root.message}`, { cause: middle });
    expect(errorFields(outer)).toMatchObject({
      type: 'Error',
      message: 'the daemon cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
    });
  });

  it('adds what only a cause says, and ends at a loop', () => {
    const cause = new Error('the disk is full');
    const error = new Error('the file was not written', { cause });
    cause.cause = error;
    expect(errorFields(error)).toMatchObject({ message: 'the file was not written: the disk is full' });
  });

  it('leaves everything else as it is', () => {
    expect([errorFields('text'), errorFields(null)]).toEqual(['text', null]);
  });
});

describe('the mask of secrets', () => {
  it('replaces every known token in a text, and in the strings of a JSON value', () => {
    const secrets = createSecretMask();
    secrets.learn('first-token');
    secrets.learn('second.token');
    expect(secrets.mask('a first-token, xsecond.tokeny, second-token')).toBe(
      'a [redacted], x[redacted]y, second-token',
    );
    const value = { a: ['first-token', 1, null, { b: 'is second.token' }], c: 9_007_199_254_740_993n };
    expect(maskStrings(value, secrets)).toEqual({
      a: ['[redacted]', 1, null, { b: 'is [redacted]' }],
      c: 9_007_199_254_740_993n,
    });
  });

  it('ignores tokens that occur in ordinary text, and forgets the oldest of very many', () => {
    const secrets = createSecretMask();
    secrets.learn('sync');
    for (let count = 0; count < 65; count += 1) secrets.learn(`token-number-${count}-`);
    expect(secrets.mask('sync token-number-0- token-number-64-')).toBe('sync token-number-0- [redacted]');
  });
});

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const SPAN = 'b7ad6b7169203331';

const receive = (traceparent?: string, tracestate?: string): ReturnType<typeof receiveTrace> =>
  receiveTrace({ traceparent, tracestate }, () => SPAN);

describe('the trace of a request', () => {
  it.each([
    [PARENT, '01'],
    [PARENT.replace(/01$/, '00'), '00'],
    // Unknown flags are cleared, and unknown parts of a later version are ignored.
    [PARENT.replace(/01$/, 'ff'), '03'],
    [PARENT.replace(/^00/, 'cc'), '01'],
    [`${PARENT.replace(/^00/, 'cc')}-further`, '01'],
  ])('the trace of %s continues with a span of its own', (traceparent, flags) => {
    const trace = receive(traceparent, 'vendor=1');
    expect(trace).toEqual({ traceId: TRACE_ID, spanId: SPAN, flags, state: 'vendor=1' });
    withTrace(trace, () => {
      expect(traceHeaders()).toEqual({
        traceparent: `00-${TRACE_ID}-${SPAN}-${flags}`,
        tracestate: 'vendor=1',
      });
      expect(traceFields()).toEqual({ trace_id: TRACE_ID, span_id: SPAN });
    });
  });

  it.each([
    undefined,
    '',
    TRACE_ID,
    `${PARENT}-further`,
    `${PARENT}, ${PARENT}`,
    PARENT.toUpperCase(),
    PARENT.replace(/^00/, 'ff'),
    PARENT.replace(TRACE_ID, '0'.repeat(32)),
    PARENT.replace('00f067aa0ba902b7', '0'.repeat(16)),
    ` ${PARENT}`,
    PARENT.slice(1),
  ])('%j begins no trace', (traceparent) => {
    expect(receive(traceparent, 'vendor=1')).toBeNull();
  });

  it('a state that is too long is dropped', () => {
    expect(receive(PARENT, 'x'.repeat(513))?.state).toBeNull();
  });

  it('belongs to the work and what it waits for, and to nothing else', async () => {
    expect([currentTrace(), traceFields(), traceHeaders()]).toEqual([null, {}, {}]);
    await withTrace(receive(PARENT), async () => {
      await new Promise((resolve) => setImmediate(resolve));
      expect(currentTrace()?.traceId).toBe(TRACE_ID);
      withTrace(null, () => {
        expect(traceFields()).toEqual({});
      });
    });
    expect(currentTrace()).toBeNull();
  });
});
