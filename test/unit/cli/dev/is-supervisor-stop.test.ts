import { expect, it } from 'vitest';
import { isSupervisorStop } from '../../../../src/cli/dev/is-supervisor-stop.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';

it('is only what the daemon says as well', () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  for (const name of ['slipway-daemon-supervisor', 'slipway-daemon']) {
    const logger = createLogger({ name, version: '1', level: 'info', destination });
    logger.info({ reason: 'SIGTERM' }, 'shutting down');
    logger.info({ code: 0 }, 'stopped');
    logger.info({ code: 1 }, 'stopped');
    logger.info({ restarts: 0 }, 'the daemon runs');
    logger.error({ step: 'daemon' }, 'a shutdown step failed');
  }
  expect(lines.map(isSupervisorStop)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
  expect(isSupervisorStop('not JSON')).toBe(false);
});
