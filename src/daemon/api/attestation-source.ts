/** Provides the attestation to the loopback API. */
export interface AttestationSource {
  /** The newest envelope, or `null` when none has been issued for this store. */
  current(): { readonly version: number; readonly envelope: Buffer } | null;
  /** Resolves when the version is no longer `knownVersion`, or after `timeoutMs`, or when the signal is aborted. */
  waitForChange(knownVersion: number | null, timeoutMs: number, signal: AbortSignal): Promise<void>;
}
