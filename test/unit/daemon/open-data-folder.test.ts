import { expect, it, onTestFinished } from 'vitest';
import { createClosers } from '../../../src/daemon/closers.ts';
import type { MainDatabase } from '../../../src/daemon/database/main-database.ts';
import { createHandoverRequest, HANDOVER_AFTER_MS } from '../../../src/daemon/handover/handover.ts';
import { openDataFolder, type SharedParts } from '../../../src/daemon/open-data-folder.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** Milliseconds between two looks of a holder. */
const LOOK_MS = 3000;

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
  const shared = { configuration: { data: { dir } }, options, closers } as unknown as SharedParts;
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
