import { unixSeconds } from '../../platform/process/clock.ts';
import { acceptOrigin } from '../../mirror/accept-origin.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import { failureText } from '../../upstream/upstream.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import type { ReleaseParts } from '../release-parts.ts';

/**
 * Reads the attestation of the origin, and records it when it may be followed.
 *
 * @param tag of the last answer, or `null` for an unconditional request
 * @returns the state of the origin and the tag for the next request, or `null` when nothing has changed since the tag
 * @throws MirrorError, UpstreamError; nothing has changed then
 */
export async function readOrigin(
  { origins, probes, clock }: ReleaseParts,
  upstream: AttestedUpstream,
  tag: string | null,
  signal: AbortSignal,
): Promise<{ readonly held: HeldOrigin; readonly tag: string | null } | null> {
  const { source } = upstream;
  const note = (ok: boolean, message: string): void => {
    probes.record({ label: source.label, ok, message, checkedAt: unixSeconds(clock) });
  };
  try {
    const trustedKeys = await upstream.trustedKeys();
    origins.trust(trustedKeys);
    // Without an attestation that counts, "nothing has changed" would be the end of it.
    const state = await source.current(origins.held() === null ? null : tag, signal);
    if (state === null) {
      note(true, 'nothing has changed');
      return null;
    }
    const accepted = acceptOrigin(state.envelope, trustedKeys, origins, clock.now(), {
      mayBeExpired: upstream.isCarried ?? false,
    });
    if (!accepted.ok) throw accepted.error;
    origins.record(state, accepted.value.verified);
    note(true, `attestation version ${accepted.value.verified.statement.version} was accepted`);
    const held = origins.held();
    if (held === null) throw new Error('the accepted attestation of the origin cannot be read back');
    return { held, tag: state.tag };
  } catch (error) {
    if (!signal.aborted) note(false, failureText(error, clock.now()));
    throw error;
  }
}
