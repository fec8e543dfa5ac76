import { expect, it } from 'vitest';
import { createDataSpace } from '../../../../src/daemon/reports/data-space.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

const never = new AbortController().signal;

it('says since when the volume of the databases is full, to the doctor and to the conditions', async () => {
  const clock = new FakeClock();
  let free = 5000;
  let inodes = 5;
  const space = createDataSpace({
    directory: '/data',
    clock,
    look: () => ({ bavail: free, bsize: 1024 * 1024, files: 10, ffree: inodes }),
  });
  const statusNow = async (): Promise<string> => (await space.check.run(never)).status;
  expect([space.fullSince(), await statusNow()]).toEqual([null, 'ok']);
  free = 200;
  expect([space.fullSince(), await statusNow()]).toEqual([null, 'degraded']);
  free = 10;
  const since = Math.floor(clock.now() / 1000);
  expect(space.fullSince()).toBe(since);
  await clock.advance(5000);
  expect(space.fullSince()).toBe(since);
  expect(await space.check.run(never)).toMatchObject({
    status: 'failing',
    message: expect.stringContaining('data.dir') as string,
    since,
  });
  // A little above the limit is not enough, so that the state does not change each second.
  free = 79;
  expect([space.fullSince(), await statusNow()]).toEqual([since, 'failing']);
  expect((await space.check.run(never)).message).toMatch(
    /^79\.0 MiB are free .* full until 80\.0 MiB are free; /,
  );
  free = 80;
  expect([space.fullSince(), await statusNow()]).toEqual([null, 'degraded']);
  free = 65;
  expect(space.fullSince()).toBe(null);
  free = 5000;
  expect([space.fullSince(), await statusNow()]).toEqual([null, 'ok']);
  // Free bytes do not help without a free inode.
  inodes = 0;
  expect([space.fullSince(), await statusNow()]).toEqual([Math.floor(clock.now() / 1000), 'failing']);
  expect((await space.check.run(never)).message).toContain('until 80.0 MiB and at least one inode are free');
  inodes = 5;
  expect([space.fullSince(), await statusNow()]).toEqual([null, 'ok']);
});

it('does not take a folder that cannot be read for a full one', () => {
  const space = createDataSpace({
    directory: '/data',
    clock: new FakeClock(),
    look: () => {
      throw new Error('ENOENT');
    },
  });
  expect(space.fullSince()).toBe(null);
  expect(() => space.check.run(never)).toThrow('ENOENT');
});
