import { expect, onTestFinished, test } from 'vitest';
import { scheduleIntervals } from '../../../../src/daemon/daemon-parts.ts';
import { createSchedules } from '../../../../src/daemon/schedules/schedules.ts';
import { daemonConfigurationSchema } from '../../../../src/daemon/settings/config.ts';
import { noFailpoints } from '../../../../src/platform/files/failpoints.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { until } from '../../../support/until.ts';
import { createWorld } from './release-world.ts';

const HOUR = 3_600_000;
const DAYS = 9;

test(
  `a release is still attested after ${DAYS} days in which nobody asks for anything`,
  { timeout: 120_000 },
  async () => {
    const world = await createWorld();
    const { engine, database, clock } = world;
    world.upstream.files.set('a', 'a');
    expect((await world.act('sync')).status).toBe('succeeded');
    const schedules = createSchedules({
      database,
      engine,
      clock,
      random: () => 0.5,
      logger: createSilentLogger(),
      failpoints: noFailpoints,
      createId: () => 'unused',
    });
    onTestFinished(async () => await schedules.stop());
    const defaults = daemonConfigurationSchema.parse({
      snapshot: { root: '/srv/snapshot' },
      data: { dir: '/var/lib/slipway' },
      attestation: { signingKeyFiles: ['/etc/slipway/signing.key'] },
      upstream: { kind: 'directory', directory: { path: '/srv/upstream' } },
    });
    schedules.configure(scheduleIntervals(defaults));
    schedules.start();
    for (let hours = 0; hours < DAYS * 24; hours += 12) {
      if (hours === 96) world.upstream.releaseId = '2.0';
      await clock.advance(12 * HOUR);
      // Nothing is attested without a recent verification: the last statement then expires.
      await until(() => {
        const { queued, running } = engine.counts();
        const isFresh = world.attested().expires_at > clock.now() / 1000;
        return Promise.resolve(queued + running === 0 && isFresh ? true : null);
      }, 30_000);
      expect(world.attested().official).toMatchObject({ result: 'PASSED' });
    }
    expect(world.attested().official?.release_id).toBe('2.0');
  },
);
