import { describe, expect, it } from 'vitest';
import { createLogger, createSilentLogger, type LogLevel } from '../../../../src/platform/logging/logging.ts';

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
