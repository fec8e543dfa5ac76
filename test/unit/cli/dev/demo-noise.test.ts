import { expect, it } from 'vitest';
import { isDemoNoise } from '../../../../src/cli/dev/demo-noise.ts';

it('leaves out the calls of the demo and the jobs that follow each of them, and no warning', () => {
  const line = (level: string, msg: string, kind?: string): string =>
    JSON.stringify({ level, time: 1, service: 'daemon', msg, kind });
  expect(isDemoNoise(line('info', 'control call'))).toBe(true);
  expect(isDemoNoise(line('info', 'action accepted'))).toBe(true);
  expect(isDemoNoise(line('info', 'requalify started', 'requalify'))).toBe(true);
  expect(isDemoNoise(line('warn', 'control call'))).toBe(false);
  expect(isDemoNoise(line('error', 'propagate failed', 'propagate'))).toBe(false);
  expect(isDemoNoise(line('info', 'localized-publish succeeded', 'localized-publish'))).toBe(false);
  expect(isDemoNoise('not JSON')).toBe(false);
});
