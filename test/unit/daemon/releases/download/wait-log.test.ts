import { expect, test } from 'vitest';
import { createWaitLog } from '../../../../../src/daemon/releases/download/wait-log.ts';
import { FakeClock } from '../../../../fakes/fake-clock.ts';

test('long waits for upstream get a line, but none that begins during another one', async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 15, 12));
  const lines: unknown[] = [];
  const note = createWaitLog(clock, { log: (...line) => lines.push(line) });
  note('short', 4_999);
  note('first', 20_000);
  note('beside it', 30_000);
  await clock.advance(20_000);
  note('next', 60_000);
  expect(lines).toEqual([
    ['warn', 'upstream is asked again at 2026-01-15T12:00:20.000Z: first', { wait_ms: 20_000 }],
    ['warn', 'upstream is asked again at 2026-01-15T12:01:20.000Z: next', { wait_ms: 60_000 }],
  ]);
});
