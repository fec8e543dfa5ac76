import { partial } from '../../support/partial.ts';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { keyIdOf } from '../../../src/attestation/keys.ts';
import { createClosers } from '../../../src/daemon/closers.ts';
import { Daemon } from '../../../src/daemon/daemon.ts';
import type { MainDatabase } from '../../../src/engine/database/main-database.ts';
import { hasHandedOver } from '../../../src/daemon/handover/handed-over.ts';
import {
  createHandoverRequest,
  createHandoverWatch,
  HANDOVER_AFTER_MS,
} from '../../../src/daemon/handover/handover.ts';
import type { DaemonParts } from '../../../src/daemon/daemon-parts.ts';
import { openDataFolder } from '../../../src/daemon/open-data-folder.ts';
import { daemonConfigurationSchema } from '../../../src/daemon/settings/config.ts';
import { EXIT_HANDED_OVER } from '../../../src/daemon/supervisor/supervision.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { createLogger, createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { createSecretMask } from '../../../src/platform/logging/secret-mask.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** Milliseconds between two looks of a holder. */
const LOOK_MS = 3000;

describe('the opening of the data folder', () => {
  it('does not hand the data folder over while it checks the database, however long that takes', async () => {
    const dir = await temporaryDirectory();
    const clock = new FakeClock();
    const closers = createClosers(createSilentLogger());
    const shutdowns: (number | undefined)[] = [];
    const options = {
      supervision: { restarts: 0, ends: [] },
      bootId: 'a',
      clock,
      logger: createSilentLogger(),
      requestShutdown: (_why: string, code?: number) => shutdowns.push(code),
    };
    const shared = { configuration: { data: { dir } }, options, closers } as unknown as DaemonParts;
    const [started, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<MainDatabase>()];
    const waiting = { clock, signal: new AbortController().signal, onWait: () => undefined };
    const folder = openDataFolder(
      shared,
      waiting,
      () => false,
      () => {
        started.resolve();
        return opened.promise;
      },
    );
    onTestFinished(async () => await closers.closeAll());
    const ask = createHandoverRequest(dir, 'b');
    const lookAfterAsking = async (isWatched: boolean): Promise<void> => {
      ask();
      await clock.advance(LOOK_MS);
      if (isWatched) await until(() => clock.sleeping === 1 || shutdowns.length > 0);
    };
    await started.promise;
    // Nobody looks at the requests.
    expect(clock.sleeping).toBe(0);
    for (let look = 0; look < 10; look += 1) await lookAfterAsking(false);
    expect(shutdowns).toEqual([]);
    opened.resolve({ database: { close: () => undefined } as MainDatabase['database'], rebuilt: null });
    await folder;
    await until(() => clock.sleeping === 1);
    for (let look = 0; look <= HANDOVER_AFTER_MS / LOOK_MS; look += 1) await lookAfterAsking(true);
    expect(shutdowns).toEqual([75]);
  });
});

describe('the closing of parts', () => {
  test('parts are closed newest first, also after one that fails', async () => {
    const closers = createClosers(createSilentLogger());
    const closed: string[] = [];
    closers.add('first', () => void closed.push('first'));
    closers.add('broken', () => {
      throw new Error('the disk is gone');
    });
    closers.add('last', () => void closed.push('last'));
    await expect(closers.closeAll()).rejects.toThrow('could not be stopped cleanly');
    expect(closed).toEqual(['last', 'first']);
  });

  test('a part that is added while the others close is closed before they count as closed', async () => {
    const closers = createClosers(createSilentLogger());
    const closed: string[] = [];
    closers.add('tasks', async () => {
      closers.add('lease', async () => {
        await Promise.resolve();
        closed.push('lease');
      });
      await Promise.resolve();
    });
    await closers.closeAll();
    expect(closed).toEqual(['lease']);
  });

  test('a part that is added after the others were closed is closed, and its failure does no harm', async () => {
    const closers = createClosers(createSilentLogger());
    const { signal } = new AbortController();
    await closers.closeAll(signal);
    const received = await new Promise((resolve) => {
      closers.add('database', resolve);
    });
    expect(received).toBe(signal);
    closers.add('lock', () => {
      throw new Error('the disk is gone');
    });
    await expect(closers.closeAll()).rejects.toThrow('could not be stopped cleanly');
  });
});

/** Makes a daemon without an upstream in an empty folder. @param lines gets its log */
async function makeDaemon(lines: string[]): Promise<Daemon> {
  const folder = await temporaryDirectory();
  const root = join(folder, 'snapshot');
  await mkdir(root);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const configuration = daemonConfigurationSchema.parse({
    listen: { socketPath: join(folder, 'api') },
    snapshot: { root },
    data: { dir: join(folder, 'data') },
    attestation: { signingKeyFiles: ['unused'] },
    upstream: { kind: 'none' },
  });
  return new Daemon(configuration, {
    clock: systemClock,
    random: Math.random,
    randomBytes,
    logger: createLogger({
      name: 'daemon',
      level: 'warn',
      destination: { write: (line) => lines.push(line) },
    }),
    secrets: createSecretMask(),
    logRing: partial({ tail: () => [] }),
    failpoints: noFailpoints,
    signingKeys: [{ keyId: keyIdOf(publicKey), privateKey }],
    loadSettings: async () => await Promise.reject(new Error('nothing is loaded again')),
    supervision: null,
    version: 'test',
    bootId: 'test',
    requestShutdown: () => undefined,
  });
}

describe('a stop soon after the start', () => {
  it('reports no fault when it stops while its databases open after the start', async () => {
    const lines: string[] = [];
    const daemon = await makeDaemon(lines);
    await daemon.start();
    await daemon.stop();
    expect(lines).toEqual([]);
  });

  it('reports no fault when it stops during the start', async () => {
    const lines: string[] = [];
    const daemon = await makeDaemon(lines);
    onTestFinished(async () => await daemon.stop());
    const started = daemon.start().catch((error: unknown) => String(error));
    await daemon.stop();
    expect(await started).toBe('Error: the daemon is stopping');
    expect(lines).toEqual([]);
  });
});

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

describe('the handover of a data folder', () => {
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
});
