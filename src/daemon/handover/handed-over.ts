import { EXIT_HANDED_OVER, type Supervision } from '../supervisor/supervision.ts';
import type { Releases } from '../../releases/releases.ts';

/**
 * Whether the process before this one handed its data folder over. Such a daemon does not ask for it. Ends before that one do not
 * count: the daemon has waited or held the folder since.
 */
export function hasHandedOver(supervision: Supervision | null): boolean {
  return supervision?.ends.at(-1)?.code === EXIT_HANDED_OVER;
}

/** Whether the official channel has a sound release that this daemon can attest, so that it keeps its data folder. */
export function canServe({ repository, attestor }: Releases): boolean {
  const current = repository.current('official');
  return current !== null && current.state !== 'damaged' && attestor.status().status !== 'failing';
}
