import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { SnapshotWriter } from '../../../snapshot/snapshot-writer.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { AttestationRepository } from '../records/attestation-repository.ts';
import { statementOfEnvelope } from '../records/statement-of-envelope.ts';

/** Collaborators of {@link offeredStatements}. */
export interface OfferedDependencies {
  readonly attestor: Pick<Attestor, 'attested'>;
  readonly attestations: Pick<AttestationRepository, 'get'>;
  readonly writer: Pick<SnapshotWriter, 'storeId' | 'readCurrentAttestation'>;
  readonly clock: Clock;
}

/**
 * The statements by which servers may serve now. A process that has issued none looks at those of the process before it,
 * until they expire: servers hold them longer than the daemon lives.
 *
 * @throws the file system error
 */
export async function offeredStatements(deps: OfferedDependencies): Promise<readonly AttestationStatement[]> {
  const own = deps.attestor.attested();
  if (own !== null) return [own];
  const now = unixSeconds(deps.clock);
  const envelopes = [
    deps.attestations.get(deps.writer.storeId)?.envelope ?? null,
    await deps.writer.readCurrentAttestation(),
  ];
  return envelopes
    .map((envelope) => (envelope === null ? null : statementOfEnvelope(envelope)))
    .filter((statement) => statement !== null)
    .filter(({ expires_at: expiresAt }) => expiresAt > now);
}
