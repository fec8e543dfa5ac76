import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { keyIdOf, type SigningKey } from '../../../../src/attestation/keys.ts';
import {
  createSettingsHolder,
  type DaemonSettings,
} from '../../../../src/daemon/settings/daemon-settings.ts';
import { createSigningKeyWatch } from '../../../../src/daemon/settings/signing-key-watch.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

function signingKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { keyId: keyIdOf(publicKey), privateKey };
}

test('an attestation that cannot be issued with new keys is issued on the next turn', async () => {
  const clock = new FakeClock();
  const next = signingKey();
  const configuration = {
    attestation: { signingKeyFiles: ['key.pem'] },
  } as unknown as DaemonSettings['configuration'];
  const settings = createSettingsHolder({ configuration, signingKeys: [signingKey()] });
  const errors: string[] = [];
  let isVolumeWritable = false;
  let reschedules = 0;
  /** The key ids of each call. */
  const issued: string[][] = [];
  const watch = createSigningKeyWatch({
    settings,
    load: async () => await Promise.resolve({ ok: true, value: { keys: [next], warnings: [] } }),
    attestor: {
      issue: async () => {
        issued.push(settings.current().signingKeys.map(({ keyId }) => keyId));
        if (!isVolumeWritable) throw new Error('no space');
        return await Promise.resolve(issued.length);
      },
      reschedule: () => {
        reschedules += 1;
      },
    },
    clock,
    logger: {
      info: () => undefined,
      warn: () => undefined,
      error: (_fields: unknown, message?: string) => errors.push(message ?? ''),
    },
  });
  watch.start();
  await clock.advance(3000);
  expect(issued).toEqual([[next.keyId], [next.keyId], [next.keyId]]);
  expect(errors).toEqual(['no attestation could be issued with the new signing keys yet; retrying']);
  expect(reschedules).toBe(0);

  isVolumeWritable = true;
  await clock.advance(5000);
  expect(issued).toHaveLength(4);
  expect(reschedules).toBe(1);
  await watch.stop();
});
