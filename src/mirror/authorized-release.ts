import { CHANNELS } from '../domain/release/channel.ts';
import type { AttestationStatement, AttestedRelease } from '../domain/verdict/attestation.ts';
import type { SourceRelease } from './attested-source.ts';

/** The release with this content that a statement authorizes, as current or as retained; `null` when it does not. */
export function authorizedRelease(statement: AttestationStatement, snapshotId: string): SourceRelease | null {
  const matches = (attested: AttestedRelease | null): attested is AttestedRelease =>
    attested?.snapshot_id === snapshotId && attested.result === 'PASSED';
  for (const channel of CHANNELS) {
    const attested = statement[channel];
    if (matches(attested)) return { channel, attested };
  }
  const retained = statement.retained.find(matches);
  return retained === undefined ? null : { channel: retained.channel, attested: retained };
}
