import { expect, it } from 'vitest';
import { createClockLook, type RecordedTime } from '../../../../src/daemon/reports/clock-check.ts';
import { unixSeconds } from '../../../../src/platform/process/clock.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

const never = new AbortController().signal;

it('says that the wall clock is behind recorded times, until they are replaced', async () => {
  const clock = new FakeClock();
  const now = unixSeconds(clock);
  let recorded: readonly RecordedTime[] = [{ what: 'the last sync ended', at: now + 60 }];
  const look = createClockLook(clock, () => recorded);
  expect(look.isBehindRecords()).toBe(false);
  expect(await look.check.run(never)).toMatchObject({ status: 'ok' });
  recorded = [...recorded, { what: 'release r1 was verified', at: now + 3600 }];
  expect(look.isBehindRecords()).toBe(true);
  expect(await look.check.run(never)).toMatchObject({
    status: 'degraded',
    message: expect.stringMatching(/behind recorded times by 3600 s: release r1 was verified at /) as string,
  });
  recorded = [];
  expect(look.isBehindRecords()).toBe(false);
  expect(await look.check.run(never)).toMatchObject({ status: 'ok' });
});
