import { lstat, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createHandoverRequest,
  createHandoverWatch,
  HANDOVER_AFTER_MS,
} from '../../../../src/daemon/handover/handover.ts';
import { hasHandedOver } from '../../../../src/daemon/handover/handed-over.ts';
import { EXIT_HANDED_OVER } from '../../../../src/daemon/supervisor/supervision.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const LOOK_MS = 3000;

async function fixture(canServe: () => boolean) {
  const directory = await temporaryDirectory();
  const clock = new FakeClock();
  let handovers = 0;
  let looks = 0;
  const watch = createHandoverWatch({
    directory,
    clock,
    canServe: () => {
      looks += 1;
      return canServe();
    },
    onHandover: () => {
      handovers += 1;
    },
  });
  watch.start();
  onTestFinished(async () => await watch.stop());
  await until(() => clock.sleeping === 1);
  const ask = createHandoverRequest(directory, 'boot');
  /** Lets the holder look this often; the other daemon asks before each look. */
  const look = async (times: number, beforeEach: () => void = ask): Promise<number> => {
    for (let turn = 0; turn < times; turn += 1) {
      beforeEach();
      const before = looks;
      await clock.advance(LOOK_MS);
      // Reading a file takes real time.
      await until(() => looks > before && (clock.sleeping === 1 || handovers > 0));
    }
    return handovers;
  };
  return { directory, ask, look };
}

describe('the holder of a data folder with nothing to serve', () => {
  it('hands it over to a daemon that asks, after a while, once', async () => {
    const { look } = await fixture(() => false);
    const looks = HANDOVER_AFTER_MS / LOOK_MS;
    expect(await look(looks - 1)).toBe(0);
    expect(await look(1)).toBe(1);
  });

  it('keeps it while nobody asks, or who asked has died', async () => {
    const { ask, look } = await fixture(() => false);
    expect(await look(10, () => undefined)).toBe(0);
    ask();
    // A single change is the first of a daemon that lives, or the last of one that died before the looks.
    expect(await look(10, () => undefined)).toBe(0);
    expect(await look(1)).toBe(1);
  });
});

describe('the holder of a data folder', () => {
  it('keeps it while it can serve, and when it could not for a moment', async () => {
    let serves = true;
    const { look } = await fixture(() => serves);
    expect(await look(10)).toBe(0);
    serves = false;
    expect(await look(3)).toBe(0);
    serves = true;
    expect(await look(1)).toBe(0);
    serves = false;
    expect(await look(5)).toBe(0);
    expect(await look(1)).toBe(1);
  });

  it('keeps it while it cannot tell whether it serves', async () => {
    const { look } = await fixture(() => {
      throw new Error('the database is damaged');
    });
    expect(await look(10)).toBe(0);
  });
});

describe('the request for a data folder', () => {
  it('changes with each turn, and only its owner can read it', async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'daemon.handover');
    const ask = createHandoverRequest(directory, 'boot');
    ask();
    const first = await readFile(path, 'utf8');
    ask();
    expect(await readFile(path, 'utf8')).not.toBe(first);
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
  });

  it('does not end the wait of a daemon that cannot write it', async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, 'daemon.handover'));
    expect(createHandoverRequest(directory, 'boot')).not.toThrow();
  });
});

describe('a supervised daemon', () => {
  it('knows from the end of the process before it whether it has handed over, and forgets earlier ends', () => {
    const handedOver = (...codes: readonly number[]): boolean =>
      hasHandedOver({
        restarts: codes.length,
        ends: codes.map((code) => ({ code, signal: null, at: 1, lived_seconds: 1, listened: true })),
      });
    expect(hasHandedOver(null)).toBe(false);
    expect(handedOver()).toBe(false);
    expect(handedOver(1)).toBe(false);
    expect(handedOver(1, EXIT_HANDED_OVER)).toBe(true);
    expect(handedOver(EXIT_HANDED_OVER, 0)).toBe(false);
    expect(handedOver(EXIT_HANDED_OVER, 1)).toBe(false);
  });
});
