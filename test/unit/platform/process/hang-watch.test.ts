import { expect, test } from 'vitest';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { createHangWatch, type WatchedProcess } from '../../../../src/platform/process/hang-watch.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

interface FakeProcess extends WatchedProcess {
  readonly name: string;
  readonly answers: boolean;
}

function fixture(watched: FakeProcess[], ping?: (process: FakeProcess) => void) {
  const clock = new FakeClock();
  const killed: string[] = [];
  const watch = createHangWatch<FakeProcess>({
    clock,
    logger: createSilentLogger(),
    watched: () => watched,
    ping:
      ping ??
      ((process) => {
        if (process.answers) process.unanswered = 0;
      }),
    kill: ({ name }) => {
      killed.push(name);
      watched.splice(0, watched.length, ...watched.filter((process) => process.name !== name));
    },
  });
  return { clock, watch, killed };
}

test('kills the process that leaves six pings unanswered, and no other', async () => {
  const { clock, watch, killed } = fixture([
    { name: 'hangs', answers: false, unanswered: 0 },
    { name: 'runs', answers: true, unanswered: 0 },
  ]);
  watch.start();
  await clock.advance(30_000);
  expect(killed).toEqual([]);
  await clock.advance(5_000);
  expect(killed).toEqual(['hangs']);
  await clock.advance(600_000);
  expect(killed).toEqual(['hangs']);
  await watch.stop();
});

test('pings again after a ping that failed, and not after a stop', async () => {
  let pings = 0;
  const { clock, watch } = fixture([{ name: 'gone', answers: true, unanswered: 0 }], () => {
    pings += 1;
    throw new Error('the channel is closed');
  });
  watch.start();
  await clock.advance(10_000);
  expect(pings).toBe(2);
  await watch.stop();
  await clock.advance(60_000);
  expect(pings).toBe(2);
});
