import { expect, test } from 'vitest';
import { describeMirrored } from '../../../../../src/daemon/releases/mirror/mirrored-channel.ts';
import type { OriginRepository } from '../../../../../src/daemon/releases/records/origin-repository.ts';
import type { AttestationStatement } from '../../../../../src/domain/verdict/attestation.ts';
import type { AttestedUpstream } from '../../../../../src/daemon/upstream/attested/attested-upstream.ts';
import { sampleStatement } from '../../../../support/attestations.ts';
import { pointers, releaseRow } from '../release-row-fixture.ts';

const STATEMENT = sampleStatement();
const { localized } = STATEMENT;
if (localized === null) throw new Error('the sample has a localized release');

function tell(
  statement: AttestationStatement | null,
  { hasCurrent = false, official = 'r90_one', channels = ['official', 'localized'] } = {},
): string | null {
  const held = statement === null ? null : { statement };
  return describeMirrored(
    { source: {}, channels } as unknown as AttestedUpstream,
    {
      origins: { held: () => held as ReturnType<OriginRepository['held']> },
      releases: {
        current: () => (hasCurrent ? releaseRow('r90_one-zh.1') : null),
        pointer: (channel) => pointers(official)[channel],
      },
    },
    'localized',
    STATEMENT.issued_at,
  );
}

const COPIED = 'the localized channel is copied from the origin';

test.each<readonly [string, string | null, string | null]>([
  [
    'the origin offers none',
    tell({ ...STATEMENT, localized: null }),
    `${COPIED}, which offers no release of it`,
  ],
  [
    'the files of the origin are damaged',
    tell({ ...STATEMENT, localized: { ...localized, result: 'FAILED' } }),
    `${COPIED}; the origin has damaged files of localized release r90_one-zh.1`,
  ],
  [
    'its base is not here',
    tell(STATEMENT, { official: 'r89_old' }),
    `${COPIED}; localized release r90_one-zh.1 waits for its base r90_one`,
  ],
  ['it is not copied yet', tell(STATEMENT), `${COPIED}; release r90_one-zh.1 is not here yet`],
  ['a release is current', tell(STATEMENT, { hasCurrent: true }), COPIED],
  ['nothing is known of the origin', tell(null), COPIED],
  ['only the official channel is copied', tell(STATEMENT, { channels: ['official'] }), null],
])('a copied channel tells that %s', (_what, told, expected) => {
  expect(told).toBe(expected);
});
