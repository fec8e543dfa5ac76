/** The unit on which a person worked last, kept in the browser for each token. */

import { attempt } from '../../api/attempt.ts';

interface KeptPlace {
  readonly taskId: string;
  readonly unitId: string;
  readonly destination: string;
  /** The beginning of its source. */
  readonly text: string;
}

const PREFIX = 'slipway.place.';
const MAX_TEXT = 80;

/** Keeps a place. @param storage throws when storage is switched off @param tokenId empty: nobody is logged in */
export function keepPlace(storage: () => Storage, tokenId: string, place: KeptPlace): void {
  if (tokenId === '') return;
  const kept = { ...place, text: place.text.slice(0, MAX_TEXT) };
  attempt(() => storage().setItem(PREFIX + tokenId, JSON.stringify(kept)));
}

/** The kept place; `null` without one. */
export function keptPlace(storage: () => Storage, tokenId: string): KeptPlace | null {
  const kept = attempt(() => JSON.parse(storage().getItem(PREFIX + tokenId) ?? '{}') as Partial<KeptPlace>);
  const { taskId = '', unitId = '', destination = '', text = '' } = kept ?? {};
  return taskId === '' || unitId === '' ? null : { taskId, unitId, destination, text };
}
