import { describe, expect, it } from 'vitest';
import { signStatement } from '../../../../../src/attestation/sign.ts';
import { readOrigin } from '../../../../../src/daemon/releases/mirror/read-origin.ts';
import { createOriginRepository } from '../../../../../src/daemon/releases/records/origin-repository.ts';
import { openDatabase } from '../../../../../src/daemon/database/database.ts';
import { join } from 'node:path';
import { FakeClock } from '../../../../fakes/fake-clock.ts';
import { createKeyPair, SAMPLE_MANIFEST_SHA256, sampleStatement } from '../../../../support/attestations.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const KEY = createKeyPair();
const STATEMENT = sampleStatement();

/** Looks at an origin whose attestation has expired; gives the version that was accepted. */
async function look(isCarried: boolean): Promise<number | undefined> {
  const database = openDatabase(join(await temporaryDirectory(), 'main.sqlite'));
  const envelope = signStatement(STATEMENT, [KEY.signing], SAMPLE_MANIFEST_SHA256);
  try {
    const found = await readOrigin(
      {
        origins: createOriginRepository(database),
        probes: { record: () => undefined },
        clock: new FakeClock((STATEMENT.expires_at + 3600) * 1000),
      },
      {
        source: {
          label: 'bundles',
          current: async () => await Promise.resolve({ envelope, tag: null, cdnHost: null }),
          manifest: async () => await Promise.reject(new Error('not asked for')),
          locatorOf: () => '',
        },
        isCarried,
        channels: ['official'],
        pollMs: 1000,
        maxAgeSeconds: 86_400,
        trustedKeys: async () => await Promise.resolve([KEY.trusted]),
      },
      null,
      new AbortController().signal,
    );
    return found?.held.version;
  } finally {
    database.close();
  }
}

describe('an attestation that has expired', () => {
  it('is followed when it was carried, and refused otherwise', async () => {
    expect(await look(true)).toBe(STATEMENT.version);
    await expect(look(false)).rejects.toMatchObject({ code: 'origin_expired' });
  });
});
